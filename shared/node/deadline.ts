/**
 * Keeps one deadline at a time. Data that arrived while this process was blocked is read before the
 * deadline passes.
 */

export class Deadline {
  readonly #onPassed: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param onPassed called once per deadline that passes */
  constructor(onPassed: () => void) {
    this.#onPassed = onPassed;
  }

  /** Replaces any earlier deadline. @param ms milliseconds from now */
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
