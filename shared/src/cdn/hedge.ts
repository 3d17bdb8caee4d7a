/**
 * Whether another request beside one that is under way is worth its bytes (NSDI 3.3; LOGIN). The
 * papers ask only how long the first has taken. With chunks of 1 MiB that is not enough: when
 * everything is slow alike, as in a crowd, a late chunk is mostly there already, and asking for
 * all of it again would make the origin send more of what it is short of.
 */

import type { Millis } from '../base/clock.ts';

/** How a request has got on so far. */
export interface RequestProgress {
  /** Since it went out. */
  readonly elapsedMs: Millis;
  /** Since bytes last came in, or since it went out. */
  readonly idleMs: Millis;
  readonly receivedBytes: number;
  readonly totalBytes: number;
}

/**
 * Tells whether another request is likely to end sooner.
 *
 * @param lateAfterMs how long such requests usually take at most
 */
export function isHedgeJustified(progress: RequestProgress, lateAfterMs: Millis): boolean {
  const { elapsedMs, idleMs, receivedBytes, totalBytes } = progress;
  if (elapsedMs < lateAfterMs) return false;
  if (idleMs >= lateAfterMs) return true;
  const restMs = (elapsedMs * (totalBytes - receivedBytes)) / receivedBytes;
  return restMs > lateAfterMs;
}
