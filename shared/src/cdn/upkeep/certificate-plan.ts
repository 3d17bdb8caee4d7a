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

/** Orders of one kind, in a row: those that have failed, or those that came early. */
export interface OrderCount {
  readonly count: number;
  /** Unix milliseconds of the latest. */
  readonly at: Millis;
}

export const NO_FAILURES: OrderCount = { count: 0, at: 0 };
export const NO_EARLY: OrderCount = { count: 0, at: 0 };

/** Advice of an authority about the certificate in use, and what following it has led to. */
export interface Advised {
  readonly window: RenewalWindow | undefined;
  /** Orders in a row that such windows have brought forward, as `countEarly` counts them. */
  readonly early: OrderCount;
}

/** How an authority is shown that this machine has the name (RFC 8555 8.3, RFC 8737). */
export type ChallengeType = 'http-01' | 'tls-alpn-01';

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

/** Certificates that are replaced before this part of their time are replaced early. */
const EARLY_PART = 1 / 2;
/**
 * Pause after an early order before the next one: it doubles. The first certificate that an authority
 * wants replaced is replaced at once; where every certificate's window is past, no week has more than
 * five orders, which authorities allow for one name.
 */
const EARLY_PAUSE_MS: Millis = 12 * 3_600_000;

/**
 * Returns the time of the next order, Unix milliseconds.
 *
 * @param valid undefined: there is no certificate of an authority for the name
 * @param random draws the spread; the same draw for one certificate gives the same time
 * @param advised a time in the authority's window is drawn, which has come at once if it is past, but
 *   for the pause after early orders (RFC 9773 4.2 leaves such pauses to clients)
 */
export function nextOrder(
  valid: Validity | undefined,
  { count, at }: OrderCount,
  random: Random,
  advised?: Advised,
): Millis {
  const wanted = valid === undefined ? 0 : renewalOf(valid, random, advised);
  if (count === 0) return wanted;
  const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(count - 1, 10));
  return Math.max(wanted, at + pause * (1 + PAUSE_SPREAD * random()));
}

/** Returns the time of a renewal. A window that begins after the certificate's end does not count. */
function renewalOf({ from, to }: Validity, random: Random, advised?: Advised): Millis {
  const usual = from + (to - from) * (RENEW_AFTER + SPREAD * random());
  const { window, early = NO_EARLY } = advised ?? {};
  if (window === undefined || window.start >= to) return usual;
  const { start, end } = window;
  const drawn = start + (Math.min(end, to) - start) * random();
  if (early.count === 0) return drawn;
  const pause = EARLY_PAUSE_MS * 2 ** Math.min(early.count - 1, 10);
  return Math.max(drawn, Math.min(usual, early.at + pause));
}

/**
 * Counts an order that has brought a certificate.
 *
 * @param early count before it
 * @param replaced certificate that it replaces; undefined: there was none
 */
export function countEarly(
  { count }: OrderCount,
  replaced: Validity | undefined,
  now: Millis,
): OrderCount {
  if (replaced === undefined) return NO_EARLY;
  const { from, to } = replaced;
  return now < from + (to - from) * EARLY_PART ? { count: count + 1, at: now } : NO_EARLY;
}

/**
 * Returns the challenges that an order takes, the one to prefer first. After each failure it is the
 * other one, because one of the two ports may be closed to the authority.
 *
 * @param hasPlainPort whether there is a port for HTTP-01
 * @param failures in a row so far
 */
export function challengesFor(hasPlainPort: boolean, failures: number): readonly ChallengeType[] {
  if (!hasPlainPort) return ['tls-alpn-01'];
  return failures % 2 === 0 ? ['http-01', 'tls-alpn-01'] : ['tls-alpn-01', 'http-01'];
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
