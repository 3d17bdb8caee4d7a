/**
 * Memory for chunks, cut from long-lived slabs and used again and again.
 *
 * Buffers left to the garbage collector cost more than the transfer itself: every new one is made
 * of pages that the kernel must first clear, and V8 collects the whole heap for every 64 MiB of
 * them. Measured on a cold transfer this is two thirds of all CPU time. The price is that memory
 * has to be given back by hand; `Chunk` counts its users for that. Forgetting to give back costs a
 * slot, no more; giving back too early would put another chunk's bytes into a response, which is
 * why the count is kept in one place and tests run with `poison`.
 */

/** A piece of memory on loan. */
export interface ChunkBuffer {
  readonly data: Buffer;
  /** Gives the memory back; nobody may look at it any more. May be called once. */
  release(): void;
}

export interface ChunkMemoryOptions {
  /** Size of a slot: the node's chunk size. Other sizes are left to the garbage collector. */
  readonly slotBytes: number;
  /** Most memory in slabs; what is needed above that is left to the garbage collector. */
  readonly maxBytes: number;
  /** Overwrite memory when it is given back, so that a use after that cannot go unnoticed. */
  readonly poison?: boolean;
}

/**
 * Slabs are as large as can be: each costs V8 a collection, and memory that was never touched costs
 * nothing.
 */
const SLAB_BYTES = 1024 * 1024 * 1024;
const POISON = 0xdb;

export class ChunkMemory {
  readonly #o: ChunkMemoryOptions;
  /** The last slot given back is the first to be used: it is still in the processor's cache. */
  readonly #free: Buffer[] = [];
  #slabBytes = 0;
  #inUse = 0;

  constructor(options: ChunkMemoryOptions) {
    this.#o = options;
  }

  /** Bytes held from the system, and of these the bytes on loan. */
  get figures(): { slabBytes: number; usedBytes: number } {
    return { slabBytes: this.#slabBytes, usedBytes: this.#inUse * this.#o.slotBytes };
  }

  /** Lends memory of exactly `bytes` bytes; its contents are arbitrary. */
  allocate(bytes: number): ChunkBuffer {
    const slot = bytes === this.#o.slotBytes ? this.#takeSlot() : undefined;
    if (slot === undefined) return { data: Buffer.allocUnsafeSlow(bytes), release() {} };
    this.#inUse++;
    let lent = true;
    return {
      data: slot,
      release: () => {
        if (!lent) throw new Error('chunk memory released twice');
        lent = false;
        this.#inUse--;
        if (this.#o.poison === true) slot.fill(POISON);
        this.#free.push(slot);
      },
    };
  }

  #takeSlot(): Buffer | undefined {
    const { slotBytes, maxBytes } = this.#o;
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const slabBytes = Math.max(slotBytes, Math.min(SLAB_BYTES, maxBytes - this.#slabBytes));
    const slots = Math.floor(slabBytes / slotBytes);
    if (this.#slabBytes + slots * slotBytes > maxBytes) return undefined;
    const slab = Buffer.allocUnsafeSlow(slots * slotBytes);
    this.#slabBytes += slab.length;
    for (let i = slots - 1; i >= 0; i--) {
      this.#free.push(slab.subarray(i * slotBytes, (i + 1) * slotBytes));
    }
    return this.#free.pop();
  }
}
