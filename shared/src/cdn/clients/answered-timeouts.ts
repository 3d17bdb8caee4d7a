/**
 * Learns after how many timeouts in a row clients that are there still answer. ANYCAST 4.2 finds
 * that hardly any client leaves two unanswered, on lines that are not crowded. Where a thousand
 * clients share a crowded line, each has a packet or two under way, loses them again and again,
 * and answers seconds later.
 */

import type { Millis } from '../../base/clock.ts';
import { UNANSWERED_TIMEOUTS } from './vanished-client.ts';

/** Time after which half of an experience counts. */
const HALF_LIFE_MS = 10_000;
/** Late answers per watched client from which late answers count as usual. */
const USUAL_PER_CLIENT = 0.02;
/** Fewest clients with late answers: one or two may just have bad lines. */
const LEAST = 3;
/** Most timeouts in a row that count: with the usual two after them, more would take minutes. */
const MOST_IN_A_ROW = 6;

export class AnsweredTimeouts {
  /** Answers of late after one timeout or more, two or more, and so on. */
  readonly #counts: number[] = Array(MOST_IN_A_ROW).fill(0);
  #at: Millis = 0;

  /**
   * A client has answered after all.
   *
   * @param inARow timeouts before that, at least 1
   * @param now monotonic
   */
  onAnswered(inARow: number, now: Millis): void {
    const left = this.#left(now);
    for (let i = 0; i < MOST_IN_A_ROW; i++) {
      this.#counts[i] = (this.#counts[i] as number) * left + (i < inARow ? 1 : 0);
    }
    this.#at = now;
  }

  /**
   * How many timeouts a client must leave unanswered to count as vanished: two more than the
   * clients that are there usually leave (`UNANSWERED_TIMEOUTS` where they leave none).
   *
   * @param clients how many are watched
   * @param own the most after which this very client has answered
   * @param now monotonic
   */
  needed(clients: number, own: number, now: Millis): number {
    const least = Math.max(LEAST, USUAL_PER_CLIENT * clients) / this.#left(now);
    const usual = this.#counts.findLastIndex((count) => count >= least) + 1;
    return UNANSWERED_TIMEOUTS + Math.max(usual, Math.min(own, MOST_IN_A_ROW));
  }

  /** The part of the experience that has not decayed since the last addition. */
  #left(now: Millis): number {
    return 0.5 ** (Math.max(0, now - this.#at) / HALF_LIFE_MS);
  }
}
