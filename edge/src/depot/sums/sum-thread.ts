/**
 * Sums and digests of what depots store. A thread of its own computes them, one for the process:
 * they take half of the processor time of an upload, and the thread that serves clients would do
 * nothing else meanwhile. Handing over costs a tenth more in all. Bytes are handed over with their memory, without a copy.
 */

import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { MillraceError } from '@millrace/shared/base/errors';
import { freeBytes, ownsMemory } from '@millrace/shared/node/memory/free-bytes';
import { AskedThread } from '@millrace/shared/node/threads/asked-thread';
import type { DigestPlace, SumAnswer, SumRequest } from './sum-requests.ts';

const thread = new AskedThread<SumRequest, SumAnswer>(
  () =>
    new Worker(new URL('./sum-worker.ts', import.meta.url), {
      // The thread holds a few numbers; the bytes are outside of its heap.
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    }),
  (why) => new MillraceError('internal', why),
);
let last = 0;

/** Tells the thread something that nobody waits for. */
function tell(request: SumRequest): void {
  // If the thread has ended, the next request that is waited for says so.
  thread.ask(request).catch(() => {});
}

/** Hands bytes over. @returns resolves when they are summed: their memory is free by then */
async function add(
  parts: readonly Uint8Array[],
  to: { readonly append?: number; readonly place?: DigestPlace | undefined },
): Promise<void> {
  const own = parts.every(ownsMemory) ? parts : [joined(parts)];
  const moved = own.map(({ buffer }) => buffer as ArrayBuffer);
  await thread.ask({ kind: 'add', ...to, parts: own }, moved);
}

/** Copies parts into memory of their own: small ones share theirs with others. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
    freeBytes(part);
  }
  return bytes;
}

/** The records of sums that one append makes. */
export class AppendSums {
  readonly #append = ++last;

  /** @param at offset of the next byte, where a segment begins */
  constructor(at: number) {
    tell({ kind: 'begin', append: this.#append, at });
  }

  /**
   * Adds the bytes that follow, whose memory belongs to the thread from then on.
   *
   * @param digest gets them as well if they are its next ones
   * @param start their offset in the file
   * @returns resolves when they are summed
   * @throws MillraceError `internal` if the thread has ended
   */
  add(parts: readonly Uint8Array[], digest: RunningDigest, start: number): Promise<void> {
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    return add(parts, { append: this.#append, place: digest.extend(start, bytes) });
  }

  /**
   * Ends the present segment, if it has bytes.
   *
   * @returns records of all bytes that were added before, but for those of earlier calls
   * @throws MillraceError `internal` if the thread has ended
   */
  async cut(): Promise<Uint8Array> {
    return (await thread.ask({ kind: 'cut', append: this.#append })) as Uint8Array;
  }

  /** Lets the thread forget the append. */
  end(): void {
    tell({ kind: 'end', append: this.#append });
  }
}

/** The thread forgets digests that nobody holds any more. */
const held = new FinalizationRegistry<number>((digest) => tell({ kind: 'forget', digest }));

/** SHA-256 of the first bytes of a file. */
export class RunningDigest {
  readonly #digest = ++last;
  #end = 0;

  constructor() {
    held.register(this, this.#digest);
  }

  /** Offset of the first byte that is not in the digest. */
  get end(): number {
    return this.#end;
  }

  /** Takes bytes as added if they are the next ones. @returns where they are added */
  extend(start: number, bytes: number): DigestPlace | undefined {
    if (start !== this.#end) return undefined;
    this.#end += bytes;
    return { digest: this.#digest, start };
  }

  /** Adds the bytes that follow, whose memory belongs to the thread from then on. */
  add(bytes: Uint8Array): Promise<void> {
    return add([bytes], { place: this.extend(this.#end, bytes.length) });
  }

  /** Returns the digest, hexadecimal. @throws MillraceError `internal` if the thread has ended */
  async hex(): Promise<string> {
    if (this.#end === 0) return createHash('sha256').digest('hex');
    return (await thread.ask({ kind: 'digest', digest: this.#digest })) as string;
  }
}
