import type { Millis } from './clock.ts';

/**
 * One answer for all callers within a period: it is made once, however many callers there are. A
 * failure is not kept, so that the next caller tries again.
 */
export class SharedAnswer<T> {
  readonly #make: () => Promise<T>;
  readonly #maxAgeMs: Millis;
  readonly #now: () => Millis;
  #latest: { readonly at: Millis; readonly answer: Promise<T>; made: boolean } | undefined;

  /**
   * @param maxAgeMs age up to which an answer is shared, from when its making began; 0: each caller
   *   gets its own
   * @param now monotonic milliseconds
   */
  constructor(make: () => Promise<T>, maxAgeMs: Millis, now: () => Millis) {
    this.#make = make;
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
  }

  /** The answer. @throws the error with which making it failed */
  get(): Promise<T> {
    if (this.#maxAgeMs <= 0) return this.#make();
    const known = this.#latest;
    // An answer that takes longer to make than it may be old is not made twice at a time.
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
