/**
 * Chooses the readers that are reset when memory is short: those that take the least for the
 * memory they hold. A reader that takes all it holds within two seconds is never chosen. Nor is a
 * reader that has taken all it was handed and has waited less than ten seconds for more bytes.
 */

import type { Millis } from '../../base/clock.ts';

/** Time within which a reader that is not slow takes what it holds. */
const FAST_MS: Millis = 2000;
/** Weight of the latest measurement in a reader's pace. */
const LATEST_WEIGHT = 0.5;
/**
 * Longest wait for bytes that excuses a reader. After that it counts as slow: a client of an origin
 * that sends next to nothing also holds its memory for nothing.
 */
const OWED_MS: Millis = 10_000;

/** How fast a reader takes what it is sent. Measured from when memory first runs short. */
export class ReaderPace {
  #takenBytes: number;
  #at: Millis;
  #bytesPerMs: number | undefined;
  /** When the reader had taken all it was handed; undefined while there is more for it. */
  #owedSince: Millis | undefined;

  /**
   * @param takenBytes bytes that the reader has taken so far
   * @param untakenBytes bytes that it was handed and has not taken
   */
  constructor(takenBytes: number, untakenBytes: number, now: Millis) {
    this.#takenBytes = takenBytes;
    this.#at = now;
    if (untakenBytes === 0) this.#owedSince = now;
  }

  /** Measures again. */
  observe(takenBytes: number, untakenBytes: number, now: Millis): void {
    if (now <= this.#at) return;
    const latest = Math.max(0, takenBytes - this.#takenBytes) / (now - this.#at);
    if (untakenBytes > 0) this.#owedSince = undefined;
    else if (this.#owedSince === undefined || latest > 0) this.#owedSince = now;
    const before = this.#bytesPerMs ?? latest;
    this.#bytesPerMs = before + LATEST_WEIGHT * (latest - before);
    this.#takenBytes = takenBytes;
    this.#at = now;
  }

  /** Undefined before two measurements, and in the first ten seconds of a wait for bytes. */
  get bytesPerMs(): number | undefined {
    const owedMs = this.#owedSince === undefined ? undefined : this.#at - this.#owedSince;
    return owedMs !== undefined && owedMs < OWED_MS ? undefined : this.#bytesPerMs;
  }
}

/** A transfer, as a reader that holds memory. */
export interface SlowReader {
  /** Bytes that ending it would free, as far as known. */
  readonly heldBytes: number;
  /** Undefined while the pace is not known or not the reader's fault: then it is not chosen. */
  readonly bytesPerMs: number | undefined;
}

/**
 * Chooses the readers to reset now, the slowest for the memory they hold first.
 *
 * @param excessBytes bytes to free; no more readers are chosen than are needed for that
 */
export function chooseSlowest<T extends SlowReader>(
  readers: readonly T[],
  excessBytes: number,
): T[] {
  if (excessBytes <= 0) return [];
  const turnover = ({ heldBytes, bytesPerMs = 0 }: T) => bytesPerMs / heldBytes;
  const slow = readers
    .filter((reader) => reader.bytesPerMs !== undefined && turnover(reader) * FAST_MS < 1)
    // All readers that take nothing have the same turnover: among them, the one that holds more
    // goes first.
    .sort((a, b) => turnover(a) - turnover(b) || b.heldBytes - a.heldBytes);
  let freed = 0;
  const end = slow.findIndex((reader) => {
    freed += reader.heldBytes;
    return freed >= excessBytes;
  });
  return end < 0 ? slow : slow.slice(0, end + 1);
}
