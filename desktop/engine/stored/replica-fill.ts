/**
 * Stores one further replica of an extent or a shard: its depot pulls the bytes from good replicas,
 * or, if it cannot, this process makes them and appends them. Digests decide whether it is right.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { PullPart } from '@millrace/shared/cdn/depot/pull-plan';
import type { Begun } from '@millrace/shared/exnode/exnode';
import { type FillWay, nextAttempt } from '@millrace/shared/exnode/fill-attempt';
import {
  appendRest,
  blocksOf,
  pull,
  type StoredState,
  stateOf,
  stateOfStored,
} from '../upload/depot-client.ts';
import { Retry } from '../upload/retry.ts';
import { DepotFailure, type PullFailure, runPull } from '../upload/spread/pull-run.ts';
import { MAX_PROVEN_BYTES } from './proven-bytes.ts';

/** The bytes of a replica: what they are, and where they come from. */
export interface FillContent {
  /** Their number. */
  readonly bytes: number;
  readonly blockBytes: number;
  /** SHA-256 of each block, lower-case hexadecimal. */
  readonly hexes: readonly string[];
  /** SHA-256 of all, if it is known. */
  readonly sha256: string | undefined;
  /** True if there may be something to pull from. */
  readonly canBePulled: boolean;
  /** Lists the parts that the depot is told to pull; undefined: there is nothing to pull from. */
  pulled(): readonly PullPart[] | undefined;
  /**
   * Makes the bytes from an offset on; all are right.
   *
   * @throws MillraceError `rest-missing` if they cannot be had; the signal's reason
   */
  read(offset: number): AsyncGenerator<Buffer>;
}

export interface FillOptions {
  readonly content: FillContent;
  /** Reserves space for the replica, and writes it down; undefined: it is given up. */
  readonly begin: () => Promise<Begun | undefined>;
  /** Releases space whose bytes are wrong. */
  readonly drop: (begun: Begun) => Promise<void>;
  readonly signal: AbortSignal;
  /** Time without progress after which a depot is given up. */
  readonly retryMs: Millis;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly observe: FillObserver;
}

interface FillObserver {
  /** Called with the number of bytes that are stored. */
  stored(bytes: number): void;
  retried(error: MillraceError, pauseMs: Millis): void;
  /** Called when the depot cannot pull, and this process sends the bytes. */
  fed(error: MillraceError): void;
}

/** An allocation with the capabilities to fill it. */
interface Space {
  readonly write: string;
  readonly manage: string;
}

export class ReplicaFill {
  readonly #options: FillOptions;
  readonly #retry: Retry;
  #stored = 0;

  constructor(options: FillOptions) {
    this.#options = options;
    const { retryMs, signal, now, observe } = options;
    const onRetry = observe.retried.bind(observe);
    this.#retry = new Retry({ retryMs, signal, now, onRetry });
  }

  /**
   * Stores the replica.
   *
   * @param resumed space that an earlier run has begun to fill
   * @returns the space with the right bytes; undefined: it was given up before a byte was stored
   * @throws DepotFailure; MillraceError of the depot, `rest-missing` if no replica gives the bytes;
   *   the signal's reason
   */
  async run(resumed: Begun | undefined): Promise<Begun | undefined> {
    const { begin, drop, content, observe } = this.#options;
    let begun = resumed ?? (await begin());
    const first: FillWay = content.canBePulled ? 'pull' : 'feed';
    for (let way = first; begun !== undefined; ) {
      const { stored, failure } = await this.#attempt(way, spaceOf(begun));
      if (failure === undefined) return begun;
      const { kind, error } = failure;
      const next = nextAttempt(way, stored, kind);
      const isFailed = next === 'depot-failed';
      if (isFailed || next.anew) await drop(begun);
      if (isFailed || content.blockBytes > MAX_PROVEN_BYTES) throw new DepotFailure(error);
      observe.fed(error);
      way = next.way;
      if (!next.anew) continue;
      this.#stored = 0;
      begun = await begin();
    }
    return undefined;
  }

  /** @returns also the number of bytes that were stored before. @throws as `run` */
  async #attempt(
    way: FillWay,
    space: Space,
  ): Promise<{ readonly stored: number; readonly failure?: PullFailure | undefined }> {
    const before = await this.#state(space);
    const stored = before.offset;
    this.#onStored(stored);
    if (!before.complete) {
      const failure =
        way === 'pull' ? await this.#pull(space, before) : await this.#feed(space.write);
      if (failure !== undefined) return { stored, failure };
    }
    const after = before.complete ? before : await this.#state(space);
    if (await this.#isRight(space, after)) return { stored };
    return { stored, failure: { kind: 'wrong', error: new MillraceError('content-mismatch') } };
  }

  #state({ manage }: Space): Promise<StoredState> {
    return this.#retry.run(() => stateOfStored(manage, this.#options.signal));
  }

  /** Lets the depot pull, and waits for the end of that. @throws as `run` */
  #pull(space: Space, before: StoredState): Promise<PullFailure | undefined> {
    const { signal, now, retryMs } = this.#options;
    return runPull({
      ...{ before, signal, now, retryMs },
      post: () => this.#post(space.write),
      state: () => this.#state(space),
      onStored: (bytes) => this.#onStored(bytes),
    });
  }

  /** Posts a pull from the replicas that may be asked. @returns false if there is none */
  async #post(write: string): Promise<boolean> {
    const { content, signal } = this.#options;
    const parts = content.pulled();
    if (parts === undefined) return false;
    const { sha256 } = content;
    await this.#retry.run(() => pull(write, { parts, sha256 }, signal));
    return true;
  }

  /** Makes the rest of the bytes, and appends them. @throws as `run` */
  async #feed(write: string): Promise<PullFailure | undefined> {
    const { content, signal } = this.#options;
    await this.#retry.run(async () => {
      const { offset, complete } = await stateOf(write, signal);
      this.#onStored(offset);
      if (complete) return;
      const rest = { bytes: content.bytes - offset, pieces: content.read(offset) };
      await appendRest(write, offset, rest, (stored) => this.#onStored(stored), signal);
    });
    return undefined;
  }

  /** Compares what the depot has stored with the digests of the exNode. @throws as `run` */
  async #isRight({ manage }: Space, { offset, sha256 }: StoredState): Promise<boolean> {
    const { content, signal } = this.#options;
    if (offset !== content.bytes) return false;
    if (content.sha256 !== undefined) return sha256 === content.sha256;
    const { blockBytes, hexes } = content;
    const digests = await this.#retry.run(() => blocksOf(manage, blockBytes, signal));
    return digests.length === hexes.length && digests.every((digest, i) => digest === hexes[i]);
  }

  #onStored(bytes: number): void {
    if (bytes > this.#stored) this.#retry.onProgress();
    this.#stored = bytes;
    this.#options.observe.stored(bytes);
  }
}

function spaceOf({ replica: { write, manage } }: Begun): Space {
  if (write !== undefined && manage !== undefined) return { write, manage };
  throw new MillraceError('bad-exnode', 'a replica that was begun lacks its capabilities');
}
