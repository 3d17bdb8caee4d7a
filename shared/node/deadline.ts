/** One deadline at a time: what came while this process was kept waiting is read before it passes. */

export class Deadline {
  readonly #onPassed: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param onPassed called once per deadline that passes */
  constructor(onPassed: () => void) {
    this.#onPassed = onPassed;
  }

  /** Replaces the one before. @param ms from now, milliseconds */
  set(ms: number): void {
    clearTimeout(this.#timer);
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (this.#timer === timer) this.#onPassed();
      });
    }, ms);
    this.#timer = timer;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
