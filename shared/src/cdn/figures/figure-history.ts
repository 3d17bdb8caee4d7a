/** Recent growth of counters: a ring of steps of equal length, in bounded memory. */

import type { Millis } from '../../base/clock.ts';

/** Growth per step, as JSON. */
export interface FigureSteps {
  readonly stepMs: Millis;
  /** Number of the first step: Unix time divided by its length. */
  readonly first: number;
  /** One value per step, all lists of the same length. */
  readonly series: Readonly<Record<string, readonly number[]>>;
}

export class FigureHistory<Name extends string> {
  readonly #names: readonly Name[];
  readonly #stepMs: Millis;
  readonly #steps: number;
  readonly #rings: ReadonlyMap<Name, Float64Array>;
  #totals: Readonly<Record<Name, number>> | undefined;
  /** Step of the first and of the latest sample. */
  #first = 0;
  #latest = 0;

  /**
   * @param names of the counters
   * @param stepMs length of a step, milliseconds
   * @param steps number of steps kept
   */
  constructor(names: readonly Name[], stepMs: Millis, steps: number) {
    this.#names = names;
    this.#stepMs = stepMs;
    this.#steps = steps;
    this.#rings = new Map(names.map((name) => [name, new Float64Array(steps)]));
  }

  /**
   * Records the counters. The first sample is their baseline.
   *
   * @param totals since the process began
   * @param now Unix milliseconds
   */
  record(totals: Readonly<Record<Name, number>>, now: Millis): void {
    const step = Math.floor(now / this.#stepMs);
    const before = this.#totals;
    this.#totals = totals;
    if (before === undefined) {
      this.#first = step;
      this.#latest = step;
      return;
    }
    this.#open(step);
    for (const name of this.#names) {
      // A clock that was set back adds to the latest step.
      const [ring, at] = this.#place(name, this.#latest);
      ring[at] = (ring[at] as number) + Math.max(0, totals[name] - before[name]);
    }
  }

  /** Returns the kept steps, the one under way included. */
  read(): FigureSteps {
    const from = Math.max(this.#first, this.#latest - this.#steps + 1);
    const count = this.#totals === undefined ? 0 : this.#latest - from + 1;
    const values = (name: Name) =>
      Array.from({ length: count }, (_, i) => {
        const [ring, at] = this.#place(name, from + i);
        return ring[at] as number;
      });
    const series = Object.fromEntries(this.#names.map((name) => [name, values(name)]));
    return { stepMs: this.#stepMs, first: from, series };
  }

  /** Begins a step, with empty ones for steps in which nothing was recorded. */
  #open(step: number): void {
    const missed = Math.min(step - this.#latest, this.#steps);
    for (let i = 0; i < missed; i++) {
      for (const name of this.#names) {
        const [ring, at] = this.#place(name, step - i);
        ring[at] = 0;
      }
    }
    this.#latest = Math.max(this.#latest, step);
  }

  #place(name: Name, step: number): [ring: Float64Array, at: number] {
    return [this.#rings.get(name) as Float64Array, step % this.#steps];
  }
}

/** Adds up the steps of several processes, step by step; undefined for no processes. */
export function mergeSteps(parts: readonly FigureSteps[]): FigureSteps | undefined {
  const [model] = parts;
  if (model === undefined) return undefined;
  const begun = parts.filter((part) => lengthOf(part) > 0);
  const first = Math.min(...begun.map((part) => part.first));
  const end = Math.max(...begun.map((part) => part.first + lengthOf(part)));
  const count = begun.length === 0 ? 0 : end - first;
  const sum = (name: string) =>
    Array.from({ length: count }, (_, i) =>
      begun.reduce((total, part) => total + (part.series[name]?.[first + i - part.first] ?? 0), 0),
    );
  const series = Object.fromEntries(Object.keys(model.series).map((name) => [name, sum(name)]));
  return { stepMs: model.stepMs, first: count === 0 ? model.first : first, series };
}

/**
 * Returns the steps from number `from` on. The caller has read up to `from`, which was perhaps
 * still under way.
 */
export function stepsSince(steps: FigureSteps, from: number): FigureSteps {
  const skip = Math.min(Math.max(0, from - steps.first), lengthOf(steps));
  const series = Object.fromEntries(
    Object.entries(steps.series).map(([name, values]) => [name, values.slice(skip)]),
  );
  return { ...steps, first: steps.first + skip, series };
}

function lengthOf({ series }: FigureSteps): number {
  return Object.values(series)[0]?.length ?? 0;
}
