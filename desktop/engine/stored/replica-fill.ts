/**
 * Stores one further replica of an extent: its depot pulls the bytes from good replicas, or, if it
 * cannot, this process reads them there and appends them. Digests decide whether it is right.
 */

import { rangeBytes } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  type Augmentation,
  afterFailure,
  type Fill,
  type FillWay,
} from '@millrace/shared/exnode/augment';
import type { Begun, Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import type { HttpSource } from '../sources/http-source.ts';
import {
  appendRest,
  blocksOf,
  pull,
  type StoredState,
  stateOf,
  stateOfStored,
} from '../upload/depot-client.ts';
import { Retry } from '../upload/retry.ts';
import { MAX_PROVEN_BYTES, provenBytes } from './proven-bytes.ts';
import { DepotFailure, type PullFailure, runPull } from './pull-run.ts';

/** Most URLs of a pull. */
const MAX_URLS = 16;

export interface FillOptions {
  readonly exnode: Exnode;
  readonly fill: Fill;
  readonly plan: Augmentation;
  readonly source: (replica: ExnodeReplica) => Promise<Pick<HttpSource, 'openRange'>>;
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
  /** Called when a replica that was copied from has sent wrong bytes. */
  wrong(replica: ExnodeReplica, error: MillraceError): void;
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
  /** Replicas that the depot was told to pull from, in its order. */
  #pulledFrom: readonly ExnodeReplica[] = [];

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
    const { begin, drop, exnode, observe } = this.#options;
    let begun = resumed ?? (await begin());
    for (let way: FillWay = 'pull'; begun !== undefined; ) {
      const { stored, failure } = await this.#attempt(way, spaceOf(begun));
      if (failure === undefined) return begun;
      const { kind, error } = failure;
      const next = afterFailure(way, stored, kind);
      const isFailed = next === 'depot-failed';
      if (isFailed || next.anew) await drop(begun);
      if (isFailed || exnode.blocks.pieceBytes > MAX_PROVEN_BYTES) throw new DepotFailure(error);
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
    const { exnode, fill, plan, signal } = this.#options;
    const sources = plan.sources(fill);
    const [first] = sources;
    if (first === undefined) return false;
    // All URLs of a part have it at one position.
    const used = sources.filter(({ at }) => at === first.at).slice(0, MAX_URLS);
    plan.onUsed(first);
    this.#pulledFrom = used;
    const from = used.map(({ read }) => read);
    const parts = [{ from, start: first.at, bytes: rangeBytes(fill) }];
    const sha256 = this.#isWhole ? exnode.sha256 : undefined;
    await this.#retry.run(() => pull(write, { parts, sha256 }, signal));
    return true;
  }

  /** Reads the rest of the bytes from good replicas, and appends them. @throws as `run` */
  async #feed(write: string): Promise<PullFailure | undefined> {
    const { exnode, fill, plan, signal, observe, source } = this.#options;
    const made = new Map<ExnodeReplica, Pick<HttpSource, 'openRange'>>();
    for (const replica of plan.sources(fill)) made.set(replica, await source(replica));
    const onWrong = (replica: ExnodeReplica, error: MillraceError) => {
      plan.onWrong(replica);
      observe.wrong(replica, error);
    };
    await this.#retry.run(async () => {
      const { offset, complete } = await stateOf(write, signal);
      this.#onStored(offset);
      if (complete) return;
      const pieces = provenBytes({
        ...{ exnode, extentStart: fill.start, signal, onWrong },
        range: { start: fill.start + offset, end: fill.end },
        replicas: () => this.#readFrom().filter((replica) => made.has(replica)),
        source: (replica) => made.get(replica) as Pick<HttpSource, 'openRange'>,
      });
      const content = { bytes: rangeBytes(fill) - offset, pieces };
      await appendRest(write, offset, content, (stored) => this.#onStored(stored), signal);
    });
    return undefined;
  }

  /** Lists the good replicas. Those of a pull come first: if one has wrong bytes, that is found out. */
  #readFrom(): ExnodeReplica[] {
    const good = this.#options.plan.sources(this.#options.fill);
    const isPulled = new Set(this.#pulledFrom);
    const first = this.#pulledFrom.filter((replica) => good.includes(replica));
    return [...first, ...good.filter((replica) => !isPulled.has(replica))];
  }

  /** True if the digest of the whole file is that of the replica. */
  get #isWhole(): boolean {
    const { exnode, fill } = this.#options;
    return exnode.sha256 !== undefined && fill.start === 0 && fill.end === exnode.size;
  }

  /** Compares what the depot has stored with the digests of the exNode. @throws as `run` */
  async #isRight({ manage }: Space, { offset, sha256 }: StoredState): Promise<boolean> {
    const { exnode, fill, signal } = this.#options;
    if (offset !== rangeBytes(fill)) return false;
    if (this.#isWhole) return sha256 === exnode.sha256;
    const { pieceBytes, hexes } = exnode.blocks;
    const digests = await this.#retry.run(() => blocksOf(manage, pieceBytes, signal));
    const expected = hexes.slice(fill.start / pieceBytes, Math.ceil(fill.end / pieceBytes));
    return (
      digests.length === expected.length && digests.every((digest, i) => digest === expected[i])
    );
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
