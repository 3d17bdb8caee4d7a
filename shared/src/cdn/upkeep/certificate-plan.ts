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

/** Time in which the authority wants a certificate renewed (RFC 9773 4.2), Unix milliseconds. */
export interface RenewalWindow {
  readonly start: Millis;
  /** Later than the start. */
  readonly end: Millis;
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
 * @param window in which the authority wants the renewal, if it says so: a time in it is drawn, which
 *   has come at once if it is past
 */
export function nextOrder(
  valid: Validity | undefined,
  { count, at }: FailedOrders,
  random: Random,
  window?: RenewalWindow,
): Millis {
  const wanted = valid === undefined ? 0 : renewalOf(valid, random, window);
  if (count === 0) return wanted;
  const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(count - 1, 10));
  return Math.max(wanted, at + pause * (1 + PAUSE_SPREAD * random()));
}

/** Returns the time of a renewal. A window that begins after the certificate's end does not count. */
function renewalOf({ from, to }: Validity, random: Random, window?: RenewalWindow): Millis {
  if (window !== undefined && window.start < to) {
    const { start, end } = window;
    return start + (Math.min(end, to) - start) * random();
  }
  return from + (to - from) * (RENEW_AFTER + SPREAD * random());
}

/** Pauses between two questions for the window (RFC 9773 4.3): by default, and their bounds. */
const ASK_MS: Millis = 6 * 3_600_000;
const MIN_ASK_MS: Millis = 60_000;
const MAX_ASK_MS: Millis = 24 * 3_600_000;

/**
 * Returns the pause before the authority is asked for the window again.
 *
 * @param stated by the authority; undefined: it does not say
 */
export function askAfter(stated: Millis | undefined): Millis {
  return Math.min(MAX_ASK_MS, Math.max(MIN_ASK_MS, stated ?? ASK_MS));
}

/** Reads the window of an answer. @returns undefined if it is malformed, or ends before it begins */
export function readWindow(suggested: unknown): RenewalWindow | undefined {
  const { start, end } = (suggested ?? {}) as Record<string, unknown>;
  const times = [start, end].map((text) =>
    typeof text === 'string' && /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN,
  );
  const [from = Number.NaN, to = Number.NaN] = times;
  return from < to ? { start: from, end: to } : undefined;
}
