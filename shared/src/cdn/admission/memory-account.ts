/**
 * One account of the memory of a process, with a hard stop. Every structure that strangers can
 * make large has a share in it and reports its weight. The process memory that the system reports
 * is a second witness, for memory outside the shares.
 *
 * Below the stop nothing changes. Above it new transfers are refused and the slowest readers are
 * reset (as Envoy's overload manager does); at the limit no more chunk memory is lent.
 */

/** Distance of the stop from the limit, as a share of the limit and in bytes. */
const HEADROOM_SHARE = 1 / 8;
const MIN_HEADROOM_BYTES = 48 * 1024 * 1024;
const MAX_HEADROOM_BYTES = 256 * 1024 * 1024;
/** Share of V8's largest heap above which a process is about to run out of memory. */
const MAX_HEAP_SHARE = 0.85;
/** Transfers that are admitted whatever the witness reports, while the account has room. */
const ALWAYS_ADMITTED = 8;

/** Memory of the process as the system and V8 see it, bytes. */
export interface Witness {
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** The largest heap that V8 allows. */
  readonly heapLimitBytes: number;
}

/** The account as the status shows it, bytes. */
export interface MemoryReport {
  readonly limitBytes: number;
  readonly stopBytes: number;
  readonly chargedBytes: number;
  readonly residentBytes: number;
  /** 1 while new transfers are refused. */
  readonly above: number;
  readonly shares: Readonly<Record<string, number>>;
}

export class MemoryAccount {
  readonly limitBytes: number;
  /** Bytes above which new transfers are refused and slow readers are reset. */
  readonly stopBytes: number;
  readonly #shares = new Map<string, () => number>();
  #idle = (): number => 0;
  #residentBytes = 0;
  /** Resident bytes that no share accounted for at the last observation. */
  #unknownBytes = 0;
  #heapExcess = Number.NEGATIVE_INFINITY;
  #isHeapHalfFull = false;

  /** @param limitBytes memory that the process must not exceed */
  constructor(limitBytes: number) {
    const headroom = Math.max(MIN_HEADROOM_BYTES, limitBytes * HEADROOM_SHARE);
    this.limitBytes = limitBytes;
    this.stopBytes = Math.floor(limitBytes - Math.min(MAX_HEADROOM_BYTES, headroom));
  }

  /**
   * Adds a share.
   *
   * @param read returns its present weight, bytes; called with every request, so it must be cheap
   */
  share(name: string, read: () => number): void {
    this.#shares.set(name, read);
  }

  /**
   * Adds a share of idle memory, which the next transfers use before they take any from the system.
   * It counts against the limit, but not against the stop, which bounds memory in use.
   *
   * @param read as in `share`
   */
  idleShare(name: string, read: () => number): void {
    this.share(name, read);
    const before = this.#idle;
    this.#idle = () => before() + read();
  }

  /** Memory of the process at the last observation, bytes. */
  get residentBytes(): number {
    return this.#residentBytes;
  }

  /** Weight of all shares together. */
  get chargedBytes(): number {
    let bytes = 0;
    for (const read of this.#shares.values()) bytes += read();
    return bytes;
  }

  /** Records the system's figures. */
  observe({ residentBytes, heapBytes, heapLimitBytes }: Witness): void {
    this.#residentBytes = residentBytes;
    this.#unknownBytes = Math.max(0, residentBytes - this.chargedBytes);
    this.#heapExcess = heapBytes - heapLimitBytes * MAX_HEAP_SHARE;
    this.#isHeapHalfFull = heapBytes > heapLimitBytes / 2;
  }

  /** Bytes in use above the stop by the shares alone; 0 or less: below it. */
  get chargedExcess(): number {
    return this.chargedBytes - this.#idle() - this.stopBytes;
  }

  get #residentExcess(): number {
    return this.#residentBytes - this.#idle() - this.stopBytes;
  }

  /** Bytes above the stop or above V8's allowed heap, by the witness; 0 or less: below both. */
  get witnessedExcess(): number {
    return Math.max(this.#residentExcess, this.#heapExcess);
  }

  /** Bytes above the stop, by shares or witness, whichever is more; 0 or less: below it. */
  get excess(): number {
    return Math.max(this.chargedExcess, this.witnessedExcess);
  }

  /** True above half of the stop: from there on it is worth knowing the slow readers. */
  get isFilling(): boolean {
    const bytes = Math.max(this.chargedBytes, this.#residentBytes);
    return bytes > this.stopBytes / 2 || this.#isHeapHalfFull;
  }

  /**
   * Returns true if a new transfer is refused. The first transfer of a client is admitted until the
   * weight is half way from the stop to the limit, because clients that fill the memory have
   * several. Memory outside the shares cannot keep out all transfers, since refusing them would not
   * free it.
   *
   * @param running transfers under way
   * @param own transfers of the client that wants another
   */
  refuses(running: number, own: number): boolean {
    const room = own === 0 ? (this.limitBytes - this.stopBytes) / 2 : 0;
    if (this.chargedExcess > room) return true;
    if (running < ALWAYS_ADMITTED) return false;
    return this.#heapExcess > 0 || this.#residentExcess > room;
  }

  /** Returns true if `bytes` more can be taken from the system within the limit. */
  mayLend(bytes: number): boolean {
    return this.chargedBytes + this.#unknownBytes + bytes <= this.limitBytes;
  }

  report(): MemoryReport {
    const shares = Object.fromEntries([...this.#shares].map(([name, read]) => [name, read()]));
    return {
      limitBytes: this.limitBytes,
      stopBytes: this.stopBytes,
      chargedBytes: this.chargedBytes,
      residentBytes: this.#residentBytes,
      above: this.excess > 0 ? 1 : 0,
      shares,
    };
  }
}
