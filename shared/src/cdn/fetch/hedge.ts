/**
 * Decides whether another request beside one under way is worth its bytes (NSDI 3.3; LOGIN). The
 * papers look only at the time the first has taken. With chunks of 512 KiB that is not enough: when
 * everything is equally slow, as in a crowd, a late chunk is mostly there already, and fetching all
 * of it again would waste the bandwidth that the origin lacks.
 */

import type { Millis } from '../../base/clock.ts';

/** How a request has got on so far. */
export interface RequestProgress {
  /** Since it went out. */
  readonly elapsedMs: Millis;
  /** Since a sign of life from the other side, or since it went out. */
  readonly idleMs: Millis;
  readonly receivedBytes: number;
  readonly totalBytes: number;
  /** How many times longer than usual the rest may take, at least 1. */
  readonly patience: number;
}

/**
 * How many times longer a request without a byte may take while the other side is alive: it is busy
 * with others, and the first byte may come any moment.
 */
export const PATIENCE_WITH_THE_LIVING = 4;

/**
 * How many times longer the rest of a request to an origin may take. A second request would take
 * the same path to the same place: where bytes come slowly it hardly gets them faster, and competes
 * with the first. It helps only where this connection alone is slow.
 */
export const PATIENCE_AT_THE_ORIGIN = 8;

/**
 * The same for a chunk that another node is still receiving. Any other node would have to get it
 * from the origin too, and the receiving node can judge earlier and better what would help.
 */
export const PATIENCE_WITH_RECEIVERS = 16;

/**
 * Tells whether another request is likely to end sooner.
 *
 * @param lateAfterMs how long such requests usually take at most
 */
export function isHedgeJustified(progress: RequestProgress, lateAfterMs: Millis): boolean {
  const { elapsedMs, idleMs, receivedBytes, totalBytes, patience } = progress;
  if (elapsedMs < lateAfterMs) return false;
  if (idleMs >= lateAfterMs) return true;
  if (receivedBytes === 0) return elapsedMs >= PATIENCE_WITH_THE_LIVING * lateAfterMs;
  const restMs = (elapsedMs * (totalBytes - receivedBytes)) / receivedBytes;
  return restMs > patience * lateAfterMs;
}
