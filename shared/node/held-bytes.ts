/**
 * Bytes of a body that came although its receiver is not ready, and what happened behind them. TLS
 * gives out all that it has decrypted, and the end of the connection, after the reading has been
 * stopped, too.
 */

/** Most bytes of a body that is held back: as much as TLS reads from the network at a time. */
const MAX_BYTES = 256 * 1024;
/** Most bytes of a TLS record. */
const RECORD_BYTES = 16 * 1024;

export class HeldBytes {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #room: Buffer | undefined;
  #end: (() => void) | undefined;

  /** Returns memory for the next read. @param lent memory that the receiver may still read */
  room(lent: Uint8Array | undefined): Buffer {
    if (this.#room === undefined || lent?.buffer === this.#room.buffer)
      this.#room = Buffer.allocUnsafeSlow(RECORD_BYTES);
    return this.#room;
  }

  /** Number of pieces. */
  get count(): number {
    return this.#pieces.length;
  }

  /** Keeps a copy of bytes. @returns false if they are too many */
  add(bytes: Uint8Array): boolean {
    if (this.#bytes + bytes.length > MAX_BYTES) return false;
    this.#bytes += bytes.length;
    this.#pieces.push(Buffer.from(bytes));
    return true;
  }

  /** Returns the earliest bytes that are left. */
  take(): Buffer | undefined {
    const piece = this.#pieces.shift();
    this.#bytes -= piece?.length ?? 0;
    return piece;
  }

  /** Returns all that is left, in order. */
  takeAll(): Buffer[] {
    this.#bytes = 0;
    return this.#pieces.splice(0);
  }

  /** True if something is to be done behind the bytes. */
  get hasEnd(): boolean {
    return this.#end !== undefined;
  }

  /** Keeps what is to be done behind the bytes; only the first such act counts. */
  keepEnd(act: () => void): void {
    this.#end ??= act;
  }

  /** Does what was kept. @returns false if nothing was */
  end(): boolean {
    const act = this.#end;
    this.#end = undefined;
    act?.();
    return act !== undefined;
  }

  clear(): void {
    this.#pieces.length = 0;
    this.#bytes = 0;
    this.#end = undefined;
  }
}
