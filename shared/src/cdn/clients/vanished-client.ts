/**
 * Tells a client that is gone from one that is slow (ANYCAST 3.1.2). The paper lets the kernel give
 * up a connection after a single retry, by a new socket option. The nearest option of a stock
 * kernel, TCP_USER_TIMEOUT, also ends connections whose window stays closed, and without a RST. But
 * the kernel reports the state of a connection, which is enough to decide outside it. A client that
 * acknowledges nothing during a timeout and the timeout of the retry is gone. A client that
 * acknowledges anything at all, even with a closed window, is not.
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
  /** Bytes that have not been sent so far; 0 if the kernel does not tell. */
  readonly unsentBytes: number;
  /** Time since data, new or repeated, last went out. */
  readonly lastSentMs: Millis;
  /** Time since the last acknowledgement of any kind came. */
  readonly lastAckMs: Millis;
}

/** Timeouts that must pass: the one that causes the retry, and the retry's own (ANYCAST 3.1.2). */
export const UNANSWERED_TIMEOUTS = 2;
/** Shortest silence of a vanished client: the least for both timeouts (200 + 400 ms, 3.1.2). */
export const MIN_SILENCE_MS = 600;
/**
 * Unanswered probes of a closed window that a vanished client leaves. One more than timeouts, since
 * the kernel counts the last probe as soon as it goes out.
 */
export const UNANSWERED_PROBES = 3;

/** Least change of a time that counts: kernels count in ticks of up to 10 ms. */
const CLOCK_SLACK_MS = 20;

/** Watches one connection. */
export class VanishedClientDetector {
  #lastAckAt = Number.NEGATIVE_INFINITY;
  /** Number of the kernel's counted timeouts that were followed by an acknowledgement. */
  #answered = 0;
  /** Timeouts in a row that were unanswered at the last observation. */
  #unanswered = 0;
  #answeredLate = 0;

  /** Timeouts in a row that were unanswered at the last observation. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Timeouts in a row after which the client has answered since the last observation; 0: none. */
  get answeredLate(): number {
    return this.#answeredLate;
  }

  /**
   * Judges the present state of the connection.
   *
   * @param state undefined if it is unknown, from which nothing follows
   * @param outstanding false while the client has nothing to acknowledge
   * @param now monotonic
   * @param timeouts timeouts in a row that must go unanswered
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
   * The kernel resets its count only when data is acknowledged. A client short of memory may answer
   * every retransmission without taking it: such timeouts must not count against the client.
   */
  #noteAnswers({ retransmits, lastSentMs, lastAckMs }: TcpState, now: Millis): void {
    const ackAt = now - lastAckMs;
    if (ackAt <= this.#lastAckAt + CLOCK_SLACK_MS) {
      this.#answered = Math.min(this.#answered, retransmits);
      return;
    }
    this.#lastAckAt = ackAt;
    // A packet sent after the acknowledgement may mean one more timeout, which is still unanswered.
    const pending = lastSentMs < lastAckMs ? 1 : 0;
    this.#answered = Math.max(0, retransmits - pending);
  }
}
