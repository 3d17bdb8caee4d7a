/**
 * Memory for chunks, cut from long-lived slabs and used again and again.
 *
 * Buffers left to the garbage collector cost more than the transfer itself. Every new one is made
 * of pages that the kernel must first clear, V8 collects the whole heap for every 64 MiB of them,
 * and how much stays uncollected is left to chance. The price is that memory has to be given back
 * by hand; `Chunk` counts its users for that. Forgetting to give back costs a slot, no more; giving
 * back too early would put another chunk's bytes into a response, which is why the count is kept in
 * one place and tests run with `poison`.
 */

import { MillraceError } from '@millrace/shared/base/errors';

/** A piece of memory on loan. */
export interface ChunkBuffer {
  readonly data: Buffer;
  /** Gives the memory back, which may no longer be used then. May be called once. */
  release(): void;
  /**
   * Lends another piece of the same size, in a kept slab, so that the slab of this piece can run
   * empty. Undefined for pieces in kept slabs.
   *
   * @returns undefined if there is none
   */
  readonly better?: () => ChunkBuffer | undefined;
}

export interface ChunkMemoryOptions {
  /** Size of a slot: the node's chunk size. Other sizes are left to the garbage collector. */
  readonly slotBytes: number;
  /** Memory that is kept once it was needed; memory above that is returned when free. */
  readonly keepBytes: number;
  /**
   * True if that many more bytes may be taken from the system; absent: always true. An idle slot is
   * lent without asking, but for a smaller piece only after a refusal.
   */
  readonly mayLend?: (bytes: number) => boolean;
  /**
   * True to overwrite memory when it is given back, so that a use after that cannot go unnoticed.
   */
  readonly poison?: boolean;
}

/**
 * Size of a slab. Kept slabs are as large as possible: each costs V8 a collection, and memory that
 * was never touched costs nothing. Extra slabs are small, so that a burst's memory can be returned.
 */
const KEPT_SLAB_BYTES = 1024 * 1024 * 1024;
const EXTRA_SLAB_BYTES = 32 * 1024 * 1024;
const POISON = 0xdb;

interface Slab {
  /** Slots not on loan; the last one given back is used first: it is in the processor's cache. */
  readonly free: Buffer[];
  readonly slots: number;
  readonly kept: boolean;
  /** Most slots that were on loan at a time: pages of the others take no memory yet. */
  touched: number;
}

export class ChunkMemory {
  readonly #options: ChunkMemoryOptions;
  /** In order of creation: extra slabs run empty because they are used last. */
  readonly #slabs: Slab[] = [];
  #keptBytes = 0;
  #slots = 0;
  #inUse = 0;
  /** Bytes of all pieces on loan, in slots and others. */
  #lentBytes = 0;
  /** Of these, bytes in slots. */
  #inSlotBytes = 0;

  constructor(options: ChunkMemoryOptions) {
    this.#options = options;
  }

  /** Bytes of slabs, and of these the bytes on loan. */
  get figures(): { slabBytes: number; usedBytes: number } {
    const { slotBytes } = this.#options;
    return { slabBytes: this.#slots * slotBytes, usedBytes: this.#inUse * slotBytes };
  }

  /** Bytes on loan, including those of other sizes than a slot's. */
  get lentBytes(): number {
    return this.#lentBytes;
  }

  /** Bytes that are not on loan but still take memory, because they once were. */
  get idleBytes(): number {
    let touched = 0;
    for (const slab of this.#slabs) touched += slab.touched;
    return touched * this.#options.slotBytes - this.#inSlotBytes;
  }

  /**
   * Lends memory of exactly `bytes` bytes; its contents are arbitrary.
   *
   * @throws MillraceError `out-of-memory` if no more may be lent
   */
  allocate(bytes: number): ChunkBuffer {
    const isSlot = bytes === this.#options.slotBytes;
    const roomy = isSlot ? this.#slabs.find(({ free }) => free.length > 0) : undefined;
    if (roomy !== undefined && hasIdle(roomy)) return this.#lendSlot(roomy, bytes);
    if (this.#options.mayLend?.(bytes) !== false) {
      return isSlot ? this.#lendSlot(roomy ?? this.#grow(), bytes) : this.#lendOther(bytes);
    }
    const idle = bytes <= this.#options.slotBytes ? this.#slabs.find(hasIdle) : undefined;
    if (idle === undefined) throw new MillraceError('out-of-memory', '', { retryAfterMs: 1000 });
    return this.#lendSlot(idle, bytes);
  }

  /** True if chunks could move to kept slabs, so that others run empty. */
  get isScattered(): boolean {
    return this.#slabs.some(({ kept }) => !kept) && this.#roomyKept() !== undefined;
  }

  #roomyKept(): Slab | undefined {
    return this.#slabs.find(({ kept, free }) => kept && free.length > 0);
  }

  /** @param bytes at most those of a slot */
  #lendSlot(slab: Slab, bytes: number): ChunkBuffer {
    const slot = slab.free.pop() as Buffer;
    this.#inUse++;
    this.#lentBytes += bytes;
    this.#inSlotBytes += bytes;
    slab.touched = Math.max(slab.touched, slab.slots - slab.free.length);
    let lent = true;
    return {
      data: bytes === slot.length ? slot : slot.subarray(0, bytes),
      ...(slab.kept ? {} : { better: () => this.#better(bytes) }),
      release: () => {
        if (!lent) throw new Error('chunk memory released twice');
        lent = false;
        this.#inUse--;
        this.#lentBytes -= bytes;
        this.#inSlotBytes -= bytes;
        if (this.#options.poison === true) slot.fill(POISON);
        slab.free.push(slot);
        if (!slab.kept && slab.free.length === slab.slots) this.#shrink(slab);
      },
    };
  }

  #better(bytes: number): ChunkBuffer | undefined {
    const slab = this.#roomyKept();
    return slab === undefined ? undefined : this.#lendSlot(slab, bytes);
  }

  /** Lends memory of another size, as for last chunks of files, left to the garbage collector. */
  #lendOther(bytes: number): ChunkBuffer {
    this.#lentBytes += bytes;
    let lent = true;
    return {
      data: Buffer.allocUnsafeSlow(bytes),
      release: () => {
        if (!lent) throw new Error('chunk memory released twice');
        lent = false;
        this.#lentBytes -= bytes;
      },
    };
  }

  #grow(): Slab {
    const { slotBytes, keepBytes } = this.#options;
    const left = Math.min(KEPT_SLAB_BYTES, keepBytes - this.#keptBytes);
    const kept = left >= slotBytes;
    const slots = Math.max(1, Math.floor((kept ? left : EXTRA_SLAB_BYTES) / slotBytes));
    const memory = Buffer.allocUnsafeSlow(slots * slotBytes);
    const free: Buffer[] = [];
    for (let i = slots - 1; i >= 0; i--) {
      free.push(memory.subarray(i * slotBytes, (i + 1) * slotBytes));
    }
    const slab = { free, slots, kept, touched: 0 };
    if (kept) this.#keptBytes += memory.length;
    this.#slots += slots;
    this.#slabs.push(slab);
    return slab;
  }

  /** Drops an unused slab if another one has room; else a new one would soon be needed. */
  #shrink(slab: Slab): void {
    const spare = this.#slabs.some((other) => other !== slab && other.free.length > 0);
    if (!spare) return;
    this.#slabs.splice(this.#slabs.indexOf(slab), 1);
    this.#slots -= slab.slots;
  }
}

/**
 * Allocates memory for the body of an answer.
 *
 * @param answer discarded if there is none: a body that is not read holds its connection for ever
 * @throws MillraceError `out-of-memory`
 */
export function allocateFor(
  answer: { discard(): void },
  memory: ChunkMemory,
  bytes: number,
): ChunkBuffer {
  try {
    return memory.allocate(bytes);
  } catch (error) {
    answer.discard();
    throw error;
  }
}

/** Returns true if a free slot takes memory already. */
function hasIdle({ free, slots, touched }: Slab): boolean {
  return slots - free.length < touched;
}
