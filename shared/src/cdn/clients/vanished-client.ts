/**
 * Tells a vanished client from a slow one (ANYCAST 3.1.2). The paper lets the kernel give up a
 * connection after a single retry, by a socket option of its own. The nearest option of a stock
 * kernel, TCP_USER_TIMEOUT, also ends connections whose window stays closed, and without a RST. But
 * the kernel reports the state of a connection, which is enough to decide outside: a client that
 * lets a timeout and the retry's timeout pass without any acknowledgement has vanished; one that
 * acknowledges anything, even with a closed window, has not.
 */

import type { Millis } from '../../base/clock.ts';

/** State of a connection as the kernel reports it. Times are ages. */
export interface TcpState {
  /** Retransmission timeouts in a row since data was last acknowledged; 0 to 255. */
  readonly retransmits: number;
  /** Probes of a closed window in a row without any acknowledgement since; 0 to 255. */
  readonly probes: number;
  /** Segments sent and not acknowledged. */
  readonly unacked: number;
  /** Bytes that have not been sent so far; 0 where the kernel does not tell. */
  readonly unsentBytes: number;
  /** Since data, new or repeated, last went out. */
  readonly lastSentMs: Millis;
  /** Age of the last acknowledgement of any kind. */
  readonly lastAckMs: Millis;
}

/** Timeouts that must pass: the one that causes the retry, and the retry's own (ANYCAST 3.1.2). */
export const UNANSWERED_TIMEOUTS = 2;
/** Shortest silence of a vanished client: the least TCP waits for these (200 + 400 ms, 3.1.2). */
export const MIN_SILENCE_MS = 600;
/**
 * Probes of a closed window without an answer. One more than timeouts: the last of them has only
 * just gone out when the kernel counts it.
 */
export const UNANSWERED_PROBES = 3;

/** Kernels count in ticks of up to 10 ms: a change below this is none. */
const CLOCK_SLACK_MS = 20;

/** Watches one connection. */
export class VanishedClientDetector {
  #lastAckAt = Number.NEGATIVE_INFINITY;
  /** Timeouts, among those the kernel has counted, that an acknowledgement followed. */
  #answered = 0;
  /** Timeouts in a row that were not answered when the connection was last looked at. */
  #unanswered = 0;
  #answeredLate = 0;

  /**
   * Number of timeouts in a row before the client's late answer since the look before; 0: no late
   * answer.
   */
  get answeredLate(): number {
    return this.#answeredLate;
  }

  /**
   * Takes in how the connection stands now.
   *
   * @param state undefined where unknown: nothing follows from it
   * @param outstanding false while the client has nothing to acknowledge
   * @param now monotonic
   * @param timeouts how many in a row must go unanswered
   * @returns true if the client has vanished
   */
  observe(
    state: TcpState | undefined,
    outstanding: boolean,
    now: Millis,
    timeouts = UNANSWERED_TIMEOUTS,
  ): boolean {
    this.#answeredLate = 0;
    if (state === undefined || !outstanding) return false;
    const { retransmits, probes, unacked, lastAckMs } = state;
    this.#noteAnswers(state, now);
    const unanswered = retransmits - this.#answered;
    if (unanswered < this.#unanswered) this.#answeredLate = this.#unanswered - unanswered;
    this.#unanswered = unanswered;
    if (lastAckMs < MIN_SILENCE_MS) return false;
    if (probes >= UNANSWERED_PROBES) return true;
    return unacked > 0 && unanswered >= timeouts;
  }

  /**
   * The kernel starts its count again only when data is acknowledged. A client short of memory may
   * answer every retransmission without taking it: such timeouts must not be held against it.
   */
  #noteAnswers({ retransmits, lastSentMs, lastAckMs }: TcpState, now: Millis): void {
    const ackAt = now - lastAckMs;
    if (ackAt <= this.#lastAckAt + CLOCK_SLACK_MS) {
      this.#answered = Math.min(this.#answered, retransmits);
      return;
    }
    this.#lastAckAt = ackAt;
    // A packet sent after the acknowledgement may be one more timeout, which that does not answer.
    const pending = lastSentMs < lastAckMs ? 1 : 0;
    this.#answered = Math.max(0, retransmits - pending);
  }
}
