/** Asks each question once: callers share one that is under way, and its answer for some time after. */

import type { Millis } from '@millrace/shared/base/clock';
import { SingleFlight } from '@millrace/shared/base/single-flight';

interface RecentAnswersOptions {
  /** Time for which an answer is used again. */
  readonly keptMs: Millis;
  /** Most answers that are kept; the oldest goes first. */
  readonly most: number;
  /** Monotonic. */
  readonly clock: () => Millis;
}

export class RecentAnswers<T> {
  readonly #options: RecentAnswersOptions;
  readonly #flights = new SingleFlight<string, T>();
  readonly #kept = new Map<string, { readonly answer: T; readonly at: Millis }>();

  constructor(options: RecentAnswersOptions) {
    this.#options = options;
  }

  /**
   * Returns a recent answer, or asks. Failures are shared while they are under way, and not kept.
   *
   * @param signal the caller's own; the question ends when every caller has left
   * @throws the signal's reason, or what `work` throws
   */
  async ask(
    key: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { keptMs, most, clock } = this.#options;
    const kept = this.#kept.get(key);
    if (kept !== undefined && clock() - kept.at < keptMs) return kept.answer;
    const answer = await this.#flights.run(key, signal, work).result;
    this.#kept.delete(key);
    this.#kept.set(key, { answer, at: clock() });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > most && oldest !== undefined) this.#kept.delete(oldest);
    return answer;
  }
}
