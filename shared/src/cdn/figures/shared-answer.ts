import type { Millis } from '../../base/clock.ts';

/**
 * One answer for all callers within a time, made once however many callers there are. A failure is
 * not kept, so that the next caller tries again.
 */
export class SharedAnswer<T> {
  readonly #make: () => Promise<T>;
  readonly #maxAgeMs: Millis;
  readonly #now: () => Millis;
  #latest: { readonly at: Millis; readonly answer: Promise<T>; made: boolean } | undefined;

  /**
   * @param maxAgeMs greatest age of an answer, from the start of making it; 0: no sharing
   * @param now monotonic milliseconds
   */
  constructor(make: () => Promise<T>, maxAgeMs: Millis, now: () => Millis) {
    this.#make = make;
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
  }

  /** Returns the shared answer, made now if need be. @throws the error of making it */
  get(): Promise<T> {
    if (this.#maxAgeMs <= 0) return this.#make();
    const known = this.#latest;
    // Even an answer that takes longer to make than its greatest age is made once at a time.
    if (known !== undefined && (!known.made || this.#now() - known.at < this.#maxAgeMs)) {
      return known.answer;
    }
    const latest = { at: this.#now(), answer: this.#make(), made: false };
    this.#latest = latest;
    latest.answer.then(
      () => {
        latest.made = true;
      },
      () => {
        if (this.#latest === latest) this.#latest = undefined;
      },
    );
    return latest.answer;
  }
}
