/**
 * Recent growth of counters by name, for names that come up as they occur: one sparse count per step,
 * in a ring of steps.
 */

import type { Millis } from '../../base/clock.ts';

type Counts = Readonly<Record<string, number>>;

export class RecentCounts {
  readonly #stepMs: Millis;
  readonly #steps: number;
  /** Growth in the latest steps, by number of the step. */
  readonly #grown = new Map<number, Map<string, number>>();
  #totals: Counts | undefined;
  #latest = 0;

  /**
   * @param stepMs length of a step, milliseconds
   * @param steps number of steps kept
   */
  constructor(stepMs: Millis, steps: number) {
    this.#stepMs = stepMs;
    this.#steps = steps;
  }

  /**
   * Records the counters. The first sample is their baseline.
   *
   * @param totals since the process began; of a bounded set of names
   * @param now Unix milliseconds
   */
  record(totals: Counts, now: Millis): void {
    const before = this.#totals;
    this.#totals = totals;
    // A clock that was set back adds to the latest step.
    this.#latest = Math.max(this.#latest, Math.floor(now / this.#stepMs));
    for (const step of this.#grown.keys()) {
      if (step <= this.#latest - this.#steps) this.#grown.delete(step);
    }
    if (before === undefined) return;
    for (const [name, total] of Object.entries(totals)) {
      const growth = total - (before[name] ?? 0);
      if (growth > 0) this.#add(name, growth);
    }
  }

  #add(name: string, growth: number): void {
    const step = this.#grown.get(this.#latest) ?? new Map<string, number>();
    this.#grown.set(this.#latest, step);
    step.set(name, (step.get(name) ?? 0) + growth);
  }

  /** Returns the growth in the latest steps, the one under way included. */
  sum(steps: number): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const [step, counts] of this.#grown) {
      if (step <= this.#latest - steps) continue;
      for (const [name, growth] of counts) sums[name] = (sums[name] ?? 0) + growth;
    }
    return sums;
  }
}

/** Adds up the counts of several processes. */
export function mergeCounts(parts: readonly Counts[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, value] of parts.flatMap(Object.entries)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}
