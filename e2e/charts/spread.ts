/** Middle values with their ranges, of several runs. */

import type { Bar } from './chart.ts';

/** A bar whose range is known. */
export type Spread = Required<{ readonly [key in keyof Bar]: number }>;

/** Returns the median of some values (of two, the larger one) with their range. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [value = Number.NaN, low = Number.NaN, high = Number.NaN] = [
    sorted[sorted.length >> 1],
    sorted[0],
    sorted.at(-1),
  ];
  return { value, low, high };
}

/** Writes a median with its range, which is left out where all runs round to the same. */
export function ranged({ value, low, high }: Spread, digits: number): string {
  const [middle, least, most] = [value, low, high].map((one) => one.toFixed(digits));
  return least === most ? `${middle}` : `${middle} (${least} to ${most})`;
}
