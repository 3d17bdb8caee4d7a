/**
 * Uploads a file in coded shards to as many depots as there are shards, and makes the exNode that
 * describes it. The file is read once, and all depots are sent to at the same time. A depot that
 * falls out is sent the rest in a further pass over the file, which begins where that depot is.
 */

import { createHash } from 'node:crypto';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { shardBytes } from '@millrace/shared/exnode/coded';
import {
  blockBytesFor,
  type CodedExtent,
  type Exnode,
  type ExnodeReplica,
  rootOf,
} from '@millrace/shared/exnode/exnode';
import { linkWith, NEUTRAL_NAME } from '@millrace/shared/exnode/seal';
import { Stripe } from '@millrace/shared/exnode/stripe';
import { openPlain } from '../files/open-plain.ts';
import { appendRest } from './depot-client.ts';
import { EncryptedFile } from './encrypted-file.ts';
import { mayRetry, Retry } from './retry.ts';
import {
  type DepotAccess,
  leavesDepot,
  type Spread,
  type SpreadOptions,
  sealedMembers,
  storeDocuments,
} from './spread-upload.ts';
import { StripeReader } from './stripe-reader.ts';
import { StripeSpace } from './stripe-space.ts';
import type { StripeDigests } from './stripe-worker.ts';
import type { FileState } from './upload-journal.ts';

/** Bytes that are sent at a time. */
const PIECE_BYTES = 256 * 1024;

export interface StripeOptions extends Omit<SpreadOptions, 'copies'> {
  /** Numbers of data and of parity shards: together no more than there are depots. */
  readonly data: number;
  readonly parity: number;
}

/**
 * Uploads a file. Depots beyond those that are needed take the place of depots that refuse space.
 *
 * @throws MillraceError as `upload`; `bad-option` if two addresses are one depot
 */
export async function stripeUpload(options: StripeOptions): Promise<Spread> {
  const { path, state, encrypts = false } = options;
  const encrypted = encrypts ? await EncryptedFile.open(path, state) : undefined;
  try {
    const fileState = encrypted?.state ?? (await stateOfFile(path));
    const upload = new StripeUpload(options, fileState, encrypted);
    return await upload.run().finally(() => upload.unlock());
  } finally {
    await encrypted?.close();
  }
}

async function stateOfFile(path: string): Promise<FileState> {
  const file = await openPlain(path);
  const { size: bytes, mtimeMs } = await file.stat().finally(() => file.close());
  return { bytes, mtimeMs };
}

class StripeUpload {
  readonly #options: StripeOptions;
  readonly #fileState: FileState;
  /** The ciphertext, which is stored in place of the file; undefined: the file itself is stored. */
  readonly #encrypted: EncryptedFile | undefined;
  readonly #stripe: Stripe;
  readonly #retry: Retry;
  /** Spaces by the depot's place in the stripe. A depot of a tiny file may store nothing. */
  readonly #spaces = new Map<number, StripeSpace>();
  /** Bytes that have been handed to each connection, or are stored. */
  readonly #sent = new Map<StripeSpace, number>();
  #digests: StripeDigests | undefined;
  #hasBegun = false;

  constructor(options: StripeOptions, fileState: FileState, encrypted: EncryptedFile | undefined) {
    this.#options = options;
    this.#fileState = fileState;
    this.#encrypted = encrypted;
    this.#stripe = new Stripe(fileState.bytes, options.data, options.parity);
    this.#retry = this.#newRetry();
  }

  async run(): Promise<Spread> {
    await this.#takeSpaces();
    await this.#retry.run(() => this.#pass());
    const digests = this.#digests as StripeDigests;
    for (const [depot, space] of this.#spaces) {
      if (space.sha256 === digests.streams[depot]) continue;
      await space.giveUp(this.#options.signal);
      const detail = `${space.access.edge}: its SHA-256 is ${space.sha256}`;
      throw new MillraceError('content-mismatch', detail);
    }
    const { exnode, sha256 } = await this.#described(digests);
    const used = [...this.#spaces.values()].map(({ access }) => access);
    const depots = used.length > 0 ? used : this.#options.depots;
    const documents = await storeDocuments(exnode, { ...this.#options, depots });
    const spaces = [...this.#spaces.values()];
    const ends = [
      ...documents.map(({ expires = 0 }) => expires),
      ...spaces.map(({ allocated }) => Date.parse(allocated.expires)),
    ];
    return {
      exnode: { ...exnode, documents },
      ...{ name: this.#options.name, sha256, bodyKey: this.#encrypted?.bodyKey },
      links: documents.map(({ read }) => linkWith(read, exnode)),
      wholes: [],
      expires: Math.min(...ends),
      forget: async () => {
        for (const space of spaces) await space.forget();
        await this.#encrypted?.forget();
      },
    };
  }

  async unlock(): Promise<void> {
    for (const space of this.#spaces.values()) await space.unlock();
  }

  /** Finds a depot for each place in the stripe: the one that an earlier upload has begun at first. */
  async #takeSpaces(): Promise<void> {
    const places = Array.from({ length: this.#stripe.depots }, (_, depot) => depot).filter(
      (depot) => this.#stripe.streamBytes(depot) > 0,
    );
    const free = new Set(this.#options.depots);
    const chosen = new Map<number, DepotAccess>();
    for (const depot of places) {
      for (const access of free) {
        if (!(await this.#space(depot, access).isBegun())) continue;
        chosen.set(depot, access);
        free.delete(access);
        break;
      }
    }
    const takeAt = async (depot: number) => {
      for (let access = chosen.get(depot); ; access = undefined) {
        const [other] = free;
        const used = access ?? (other as DepotAccess);
        free.delete(used);
        try {
          return await this.#take(depot, used);
        } catch (error) {
          if (this.#options.signal.aborted || !leavesDepot(error)) throw error;
          this.#options.observe.left(used.edge, error);
          if (free.size === 0) throw error;
        }
      }
    };
    const taken = await Promise.allSettled(places.map(takeAt));
    const failed = taken.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    this.#checkDepots();
  }

  async #take(depot: number, access: DepotAccess): Promise<void> {
    const { forMs, signal, observe } = this.#options;
    const name = this.#encrypted === undefined ? this.#options.name : NEUTRAL_NAME;
    const space = this.#space(depot, access);
    const bytes = this.#stripe.streamBytes(depot);
    const wish = { bytes, name: `${name}.${depot}`, forMs, retry: this.#newRetry(), signal };
    try {
      await space.take(wish, () => observe.anew());
    } catch (error) {
      await space.unlock();
      throw error;
    }
    this.#spaces.set(depot, space);
  }

  #space(depot: number, access: DepotAccess): StripeSpace {
    const { path, state, data, parity } = this.#options;
    const part = `stripe ${data}+${parity} ${depot}`;
    const [fileState, keyId] = [this.#fileState, this.#encrypted?.keyId];
    return new StripeSpace({ path, fileState, part, access, state, keyId });
  }

  /** @throws MillraceError `bad-option` if two shards would be lost with one depot */
  #checkDepots(): void {
    const served = [...this.#spaces.values()].map(
      ({ allocated }) => new URL(allocated.read).origin,
    );
    const twice = served.find((origin, i) => served.indexOf(origin) !== i);
    if (twice === undefined) return;
    throw new MillraceError('bad-option', `two of the depots are one: ${twice}`);
  }

  /**
   * Sends what depots lack, in one pass over the file.
   *
   * @throws MillraceError the first failure, after all others have been sent to
   */
  async #pass(): Promise<void> {
    const { signal, path, data, parity } = this.#options;
    const failures: unknown[] = [];
    const active = new Map<number, StripeSpace>();
    const lacking = [...this.#spaces].filter(([, space]) => space.sha256 === undefined);
    await Promise.all(
      lacking.map(async ([depot, space]) => {
        try {
          await space.look(signal);
          this.#sent.set(space, space.stored);
          if (space.sha256 === undefined) active.set(depot, space);
        } catch (error) {
          failures.push(await this.#judged(error, space));
        }
      }),
    );
    this.#begin();
    const isFirst = this.#digests === undefined;
    if (failures.length > 0 && active.size === 0) throw failures[0];
    if (isFirst || active.size > 0) {
      const stored = [...active.values()].map((space) => space.stored);
      const from = isFirst ? 0 : Math.floor(Math.min(...stored) / this.#stripe.unit);
      const task = { path, state: this.#fileState, data, parity, from, digests: isFirst };
      const reader = new StripeReader(task, [...active.keys()], this.#encrypted?.read);
      const stop = new AbortController();
      const both = AbortSignal.any([signal, stop.signal]);
      try {
        const sending = [...active].map(async ([depot, space]) => {
          try {
            await this.#send(depot, space, reader, from * this.#stripe.unit, both);
          } catch (error) {
            reader.leave(depot);
            const judged = await this.#judged(error, space);
            failures.push(judged);
            // Nothing is won by sending the rest to the others.
            if (!mayRetry(judged)) stop.abort(judged);
          }
        });
        const stopped = new Promise<void>((resolve) => {
          both.addEventListener('abort', () => resolve(), { once: true });
        });
        const digests = await Promise.race([reader.ended, stopped]);
        await Promise.all(sending);
        signal.throwIfAborted();
        if (stop.signal.aborted) throw stop.signal.reason;
        if (digests !== undefined) this.#digests = digests;
      } finally {
        stop.abort(new MillraceError('interrupted'));
        await reader.close();
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #send(
    depot: number,
    space: StripeSpace,
    reader: StripeReader,
    start: number,
    signal: AbortSignal,
  ): Promise<void> {
    const offset = space.stored;
    const bytes = this.#stripe.streamBytes(depot) - offset;
    const content = { bytes, pieces: this.#pieces(reader.stream(depot), space, start, offset) };
    const onStored = (stored: number) => {
      if (stored <= space.stored) return;
      space.stored = stored;
      this.#retry.onProgress();
    };
    space.note(await appendRest(space.allocated.write, offset, content, onStored, signal));
    if (space.sha256 === undefined) {
      throw new MillraceError('malformed-response', 'the depot has not stored all');
    }
    this.#retry.onProgress();
  }

  /** Cuts a stream into pieces, without the bytes before an offset. */
  async *#pieces(
    stream: AsyncIterable<Uint8Array>,
    space: StripeSpace,
    start: number,
    offset: number,
  ): AsyncGenerator<Buffer, void, undefined> {
    let at = start;
    for await (const { buffer, length } of stream) {
      const end = at + length;
      for (let from = Math.max(at, offset); from < end; from += PIECE_BYTES) {
        const bytes = Math.min(PIECE_BYTES, end - from);
        yield Buffer.from(buffer as ArrayBuffer, from - at, bytes);
        this.#sent.set(space, from + bytes);
        this.#options.observe.sent(this.#sentBytes());
      }
      at = end;
    }
  }

  /** Names the depot of an error, and forgets space that the depot does not have any more. */
  async #judged(error: unknown, space: StripeSpace): Promise<MillraceError> {
    if (!isMillraceError(error)) throw error;
    const { edge } = space.access;
    if (error.code === 'file-has-changed') return error;
    if (error.code === 'no-such-allocation') await space.forget();
    const { code, detail, retryAfterMs } = error;
    const why = detail === '' ? edge : `${edge}: ${detail}`;
    return new MillraceError(code, why, { cause: error, retryAfterMs });
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const depots = [...this.#spaces.keys()];
    const bytes = depots.reduce((sum, depot) => sum + this.#stripe.streamBytes(depot), 0);
    this.#options.observe.begun(bytes, this.#sentBytes());
  }

  #sentBytes(): number {
    return [...this.#sent.values()].reduce((sum, one) => sum + one, 0);
  }

  /** Returns the exNode, and the digest of the plain file. */
  async #described(digests: StripeDigests) {
    const { name, signal } = this.#options;
    const { bytes: size } = this.#fileState;
    const encrypted = await this.#encrypted?.digests(signal);
    const { sha256 } = encrypted ?? digests;
    const hexes = encrypted?.blocks.hexes ?? digests.blocks;
    const blocks = { algorithm: 'sha256', pieceBytes: blockBytesFor(size), hexes } as const;
    const root = rootOf(size, blocks, (bytes) => createHash('sha256').update(bytes).digest('hex'));
    const key = this.#encrypted?.key;
    const own = key && sealedMembers(key, { name, sha256, root });
    const coded = this.#coded(digests);
    const exnode: Exnode = { ...{ name, size, sha256, blocks, root, extents: [], coded }, ...own };
    return { exnode, sha256 };
  }

  #coded({ parity: parityHexes }: StripeDigests): CodedExtent[] {
    const { data, parity, unit, extents } = this.#stripe;
    return extents.map((extent, e): CodedExtent => {
      const row = data * unit;
      const rows = parityHexes.slice(extent.start / row, Math.ceil(extent.end / row));
      const shards = Array.from({ length: data + parity }, (_, shard): ExnodeReplica[] => {
        if (shardBytes(extent, shard) === 0) return [];
        const space = this.#spaces.get(this.#stripe.depotOf(e, shard)) as StripeSpace;
        const { read, write, manage, expires } = space.allocated;
        const at = this.#stripe.extentAt(e);
        return [{ read, at, expires: Date.parse(expires), write, manage }];
      });
      const ofShards = Array.from({ length: parity }, (_, j) =>
        rows.flatMap((its) => its[j] ?? []),
      );
      return { ...extent, parityHexes: ofShards, shards };
    });
  }

  #newRetry(): Retry {
    const { retryMs, signal, now, observe } = this.#options;
    return new Retry({ retryMs, signal, now, onRetry: observe.retried.bind(observe) });
  }
}
