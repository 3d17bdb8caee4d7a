/** Compares what two counts of connections have brought. */

/**
 * Inaccuracy of a comparison of two rates, as a share, and the same on a full line, where the shares
 * of several connections go up and down.
 */
export const NOISE = 0.05;
const FULL_NOISE = 0.15;

/** A count of connections, and the bytes per second that it brought. */
export interface Rate {
  readonly count: number;
  readonly rate: number;
}

/**
 * Returns true if the larger of two counts brings more than it could by taking from rivals on a line
 * that all of them fill: `n` connections beside one rival have `n / (n + 1)` of it.
 *
 * @param rivals connections of others on the same line
 */
export function isWorth(smaller: Rate, larger: Rate, rivals: number): boolean {
  const share = (count: number) => count / (count + rivals);
  const taken = share(larger.count) / share(smaller.count);
  return larger.rate > smaller.rate * taken * (1 + (rivals > 0 ? FULL_NOISE : NOISE));
}

/** Returns the mean. @param values one or more */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
