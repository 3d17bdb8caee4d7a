/**
 * A waiting line that entries may leave: taking the first entry and removing any other cost the
 * same, however long the line is.
 */
export class WaitingLine<T> {
  readonly #entries = new Set<T>();
  /**
   * Iterator that stands before the first entry. Kept, because each new iterator would step over
   * all deleted entries before the first one again.
   */
  #from: Iterator<T> | undefined;

  get size(): number {
    return this.#entries.size;
  }

  /** Adds an entry at the end. An entry is in the line once. */
  add(entry: T): void {
    this.#entries.add(entry);
  }

  /** Removes an entry. @returns false if it was not in the line */
  delete(entry: T): boolean {
    const was = this.#entries.delete(entry);
    // An unused iterator keeps alive the tables that the set has outgrown.
    if (this.#entries.size === 0) this.#from = undefined;
    return was;
  }

  /** Takes the first entry out of the line; undefined if the line is empty. */
  take(): T | undefined {
    if (this.#entries.size === 0) return undefined;
    this.#from ??= this.#entries.values();
    const { value, done } = this.#from.next();
    if (done) {
      // The iterator reached its end before these entries were added.
      this.#from = undefined;
      return this.take();
    }
    this.#entries.delete(value);
    return value;
  }

  /** Takes all entries out of the line, the first one first. */
  takeAll(): T[] {
    const all = [...this.#entries];
    this.#entries.clear();
    this.#from = undefined;
    return all;
  }
}

/**
 * Waits in a line of wakers until this one is taken out of it and called.
 *
 * @throws the signal's reason; the place in the line is free then
 */
export function waitInLine(line: WaitingLine<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const wake = () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    const onAbort = () => {
      line.delete(wake);
      reject(signal.reason);
    };
    line.add(wake);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
