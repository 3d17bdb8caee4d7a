/**
 * Learns after how many timeouts in a row live clients still answer. ANYCAST 4.2 finds that on
 * uncrowded lines hardly any client leaves two unanswered. If a thousand clients share a crowded
 * line, each has a packet or two under way, loses them again and again, and answers seconds later.
 */

import type { Millis } from '../../base/clock.ts';
import { UNANSWERED_TIMEOUTS } from './vanished-client.ts';

/** Time after which a late answer counts half. */
const HALF_LIFE_MS = 10_000;
/** Fewest late answers per watched client that count as usual. */
const USUAL_PER_CLIENT = 0.02;
/**
 * Fewest late answers in all that count as usual: one or two clients may have bad lines of their
 * own.
 */
const LEAST = 3;
/** Most timeouts in a row that count: with the two added to them, more would take minutes. */
const MOST_IN_A_ROW = 6;

export class AnsweredTimeouts {
  /** Recent late answers: after one timeout or more, two or more, and so on. */
  readonly #counts: number[] = Array(MOST_IN_A_ROW).fill(0);
  #at: Millis = 0;

  /**
   * Records that a client has answered after timeouts.
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
   * Returns how many timeouts a client must leave unanswered to count as vanished: two more than
   * live clients usually leave (`UNANSWERED_TIMEOUTS` if they leave none).
   *
   * @param clients number of watched clients
   * @param own most timeouts in a row after which this client itself has answered
   * @param now monotonic
   */
  needed(clients: number, own: number, now: Millis): number {
    const least = Math.max(LEAST, USUAL_PER_CLIENT * clients) / this.#left(now);
    const usual = this.#counts.findLastIndex((count) => count >= least) + 1;
    return UNANSWERED_TIMEOUTS + Math.max(usual, Math.min(own, MOST_IN_A_ROW));
  }

  /** Weight that is left of the counts since the latest answer, 0 to 1. */
  #left(now: Millis): number {
    return 0.5 ** (Math.max(0, now - this.#at) / HALF_LIFE_MS);
  }
}
