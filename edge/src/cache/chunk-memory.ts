/**
 * Memory for chunks, cut from long-lived slabs and used again and again.
 *
 * Buffers left to the garbage collector cost more than the transfer itself: every new one is made
 * of pages that the kernel must first clear, and V8 collects the whole heap for every 64 MiB of
 * them; and how much lies around uncollected is up to chance. The price is that memory has to be
 * given back by hand; `Chunk` counts its users for that. Forgetting to give back costs a slot, no
 * more; giving back too early would put another chunk's bytes into a response, which is why the
 * count is kept in one place and tests run with `poison`.
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
  /** Memory that is kept once it was needed; what is needed above that is returned when free. */
  readonly keepBytes: number;
  /** Overwrite memory when it is given back, so that a use after that cannot go unnoticed. */
  readonly poison?: boolean;
}

/**
 * Kept slabs are as large as can be: each costs V8 a collection, and memory that was never touched
 * costs nothing. Those above are small, so that a burst's memory can be returned.
 */
const KEPT_SLAB_BYTES = 1024 * 1024 * 1024;
const EXTRA_SLAB_BYTES = 32 * 1024 * 1024;
const POISON = 0xdb;

interface Slab {
  /** Slots not on loan; the last one given back is used first: it is in the processor's cache. */
  readonly free: Buffer[];
  readonly slots: number;
  readonly kept: boolean;
}

export class ChunkMemory {
  readonly #o: ChunkMemoryOptions;
  /** In the order of their making: extra slabs run empty because they are the last to be used. */
  readonly #slabs: Slab[] = [];
  #keptBytes = 0;
  #slots = 0;
  #inUse = 0;

  constructor(options: ChunkMemoryOptions) {
    this.#o = options;
  }

  /** Bytes held from the system, and of these the bytes on loan. */
  get figures(): { slabBytes: number; usedBytes: number } {
    const { slotBytes } = this.#o;
    return { slabBytes: this.#slots * slotBytes, usedBytes: this.#inUse * slotBytes };
  }

  /** Lends memory of exactly `bytes` bytes; its contents are arbitrary. */
  allocate(bytes: number): ChunkBuffer {
    if (bytes !== this.#o.slotBytes) return { data: Buffer.allocUnsafeSlow(bytes), release() {} };
    const slab = this.#slabs.find(({ free }) => free.length > 0) ?? this.#grow();
    const slot = slab.free.pop() as Buffer;
    this.#inUse++;
    let lent = true;
    return {
      data: slot,
      release: () => {
        if (!lent) throw new Error('chunk memory released twice');
        lent = false;
        this.#inUse--;
        if (this.#o.poison === true) slot.fill(POISON);
        slab.free.push(slot);
        if (!slab.kept && slab.free.length === slab.slots) this.#shrink(slab);
      },
    };
  }

  #grow(): Slab {
    const { slotBytes, keepBytes } = this.#o;
    const left = Math.min(KEPT_SLAB_BYTES, keepBytes - this.#keptBytes);
    const kept = left >= slotBytes;
    const slots = Math.max(1, Math.floor((kept ? left : EXTRA_SLAB_BYTES) / slotBytes));
    const memory = Buffer.allocUnsafeSlow(slots * slotBytes);
    const free: Buffer[] = [];
    for (let i = slots - 1; i >= 0; i--) {
      free.push(memory.subarray(i * slotBytes, (i + 1) * slotBytes));
    }
    const slab = { free, slots, kept };
    if (kept) this.#keptBytes += memory.length;
    this.#slots += slots;
    this.#slabs.push(slab);
    return slab;
  }

  /** Drops an unused slab if another one has room: else it would be made anew in a moment. */
  #shrink(slab: Slab): void {
    const spare = this.#slabs.some((other) => other !== slab && other.free.length > 0);
    if (!spare) return;
    this.#slabs.splice(this.#slabs.indexOf(slab), 1);
    this.#slots -= slab.slots;
  }
}
