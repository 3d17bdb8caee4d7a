import type { Millis } from './clock.ts';

/**
 * One answer for all who ask within a time: however many they are, it is made once. What fails is
 * forgotten, so that the next one tries again.
 */
export class SharedAnswer<T> {
  readonly #make: () => Promise<T>;
  readonly #maxAgeMs: Millis;
  readonly #now: () => Millis;
  #latest: { readonly at: Millis; readonly answer: Promise<T>; made: boolean } | undefined;

  /**
   * @param maxAgeMs how old an answer may be, from when it began to be made; 0: each gets its own
   * @param now monotonic milliseconds
   */
  constructor(make: () => Promise<T>, maxAgeMs: Millis, now: () => Millis) {
    this.#make = make;
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
  }

  /** The answer. @throws whatever keeps it from being made */
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
