/**
 * Decides whether another request beside one under way is worth its bytes (NSDI 3.3; LOGIN). The
 * papers ask only how long the first has taken. With chunks of 512 KiB that is not enough: when
 * everything is slow alike, as in a crowd, a late chunk is mostly there already, and asking for
 * all of it again would make the origin send more of what it is short of.
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
 * How many times longer a request may take that has brought nothing, where the other side is alive:
 * it is busy with others, and what it is asked for may come any moment.
 */
export const PATIENCE_WITH_THE_LIVING = 4;

/**
 * How many times longer the rest of a request to an origin may take. Another would go to the same
 * place over the same way: where bytes come slowly it hardly gets them faster, and takes from the
 * first what there is. It helps where this one's connection alone is that slow.
 */
export const PATIENCE_AT_THE_ORIGIN = 8;

/**
 * The same for a chunk that another node is still receiving. Any other node would have to get it from
 * the origin too; and the one that is at it finds out earlier, and more surely, what would help.
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
