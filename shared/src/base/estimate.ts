/**
 * Exponentially weighted mean and mean deviation of a series, the way TCP estimates its
 * round-trip time (RFC 6298; NSDI 3.3 uses the same for chunk times).
 */
export class Estimate {
  #mean = 0;
  #deviation = 0;
  #samples = 0;

  /** Number of samples seen. */
  get samples(): number {
    return this.#samples;
  }

  /** The mean; 0 before the first sample. Same unit as the samples. */
  get mean(): number {
    return this.#mean;
  }

  /** The mean deviation; half the first sample at first, as in RFC 6298 2.2. */
  get deviation(): number {
    return this.#deviation;
  }

  /** Takes in a sample (any finite number; negative ones count as 0). */
  add(sample: number): void {
    const value = Math.max(0, sample);
    if (this.#samples++ === 0) {
      this.#mean = value;
      this.#deviation = value / 2;
      return;
    }
    this.#deviation += (Math.abs(value - this.#mean) - this.#deviation) / 4;
    this.#mean += (value - this.#mean) / 8;
  }
}
