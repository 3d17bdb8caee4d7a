/**
 * Tells from the times of answers whether they wait in a queue before the line: then the line is
 * full, and more connections would only lengthen the queue.
 */

import type { Millis } from '../../base/clock.ts';

/** Answers that must all be late to show a queue, and how much later than the quickest is late. */
const HEADS = 4;
const LATE = 1.1;
const LATE_MS = 3;

export class AnswerTimes {
  /** Shortest time to the head of an answer, by source. */
  readonly #headMs = new Map<string, Millis>();
  /** For each of the last answers, at most `HEADS`, whether it was late. */
  readonly #late: boolean[] = [];

  /**
   * Notes the time from a request, sent on an open connection, to the head of its answer: a round
   * trip, the wait in the queue before the line, and the server's own time.
   *
   * @returns true if the answer was late, compared with the quickest one of its source
   */
  add(source: string, ms: Millis): boolean {
    const least = Math.min(ms, this.#headMs.get(source) ?? ms);
    this.#headMs.set(source, least);
    const isLate = ms > least * LATE + LATE_MS;
    this.#late.push(isLate);
    if (this.#late.length > HEADS) this.#late.shift();
    return isLate;
  }

  /** True if the last answers have all been late. */
  get areLate(): boolean {
    return this.#late.length === HEADS && this.#late.every((late) => late);
  }

  /** The quickest answer of the most distant source, in milliseconds; 0: there was no answer. */
  get longestMs(): Millis {
    return Math.max(0, ...this.#headMs.values());
  }
}
