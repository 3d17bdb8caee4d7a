/**
 * When a certificate is ordered: in good time before its end, and after failures ever more rarely, so
 * that an authority's limits on failed orders are kept, over restarts as well. Pure.
 */

import type { Millis, Random } from '../../base/clock.ts';

/** The certificate in use, times in Unix milliseconds. */
export interface Validity {
  readonly from: Millis;
  readonly to: Millis;
}

/** Orders so far that have failed in a row. */
export interface FailedOrders {
  readonly count: number;
  /** Unix milliseconds of the latest. */
  readonly at: Millis;
}

export const NO_FAILURES: FailedOrders = { count: 0, at: 0 };

/** Part of a certificate's time after which it is renewed: two months of three. */
const RENEW_AFTER = 2 / 3;
/** Part of the time over which renewals of many edges are spread. */
const SPREAD = 1 / 50;
/**
 * Pauses after failures: they double. With the first one, at most four orders fail within an hour;
 * authorities allow five.
 */
const FIRST_PAUSE_MS: Millis = 15 * 60_000;
const MAX_PAUSE_MS: Millis = 12 * 3_600_000;
const PAUSE_SPREAD = 1 / 4;

/**
 * Returns the time of the next order, Unix milliseconds.
 *
 * @param valid undefined: there is no certificate of an authority for the name
 * @param random draws the spread; the same draw for one certificate gives the same time
 */
export function nextOrder(
  valid: Validity | undefined,
  { count, at }: FailedOrders,
  random: Random,
): Millis {
  const wanted = valid === undefined ? 0 : renewalOf(valid, random);
  if (count === 0) return wanted;
  const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(count - 1, 10));
  return Math.max(wanted, at + pause * (1 + PAUSE_SPREAD * random()));
}

function renewalOf({ from, to }: Validity, random: Random): Millis {
  return from + (to - from) * (RENEW_AFTER + SPREAD * random());
}
