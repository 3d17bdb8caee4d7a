/**
 * Decides whether another request beside one under way is worth its bytes (NSDI 3.3; LOGIN). The
 * papers ask only how long the first has taken. With chunks of 512 KiB that is not enough. When all
 * requests are slow, as in a crowd, most of a late chunk is there already, and requesting all of it
 * again would take bandwidth that the origin is short of.
 */

import type { Millis } from '../../base/clock.ts';

/** Progress of a request so far. */
export interface RequestProgress {
  /** Time since the request went out. */
  readonly elapsedMs: Millis;
  /** Time since a sign of life from the other side, or since the request went out. */
  readonly idleMs: Millis;
  readonly receivedBytes: number;
  readonly totalBytes: number;
  /** Longest time for the rest, in multiples of the usual time; 0: none if others are faster. */
  readonly patience: number;
}

/**
 * Longest time for a request without any bytes whose other side is alive, in multiples of the usual
 * time: that side is busy with other requests, and the bytes may come any moment.
 */
export const PATIENCE_WITH_THE_LIVING = 4;

/**
 * Longest time for the rest of a request to an origin, in multiples of the usual time. Another
 * request would go to the same origin over the same path: if bytes come slowly, it is hardly faster
 * and takes bandwidth from the first. It helps only if the connection of the first alone is that
 * slow. By `npm run -s sim -- retries`, 4 takes over nearly all requests on such connections, and
 * none where the whole line has become slow; 2 takes over some there, and 8 hardly any at all.
 */
export const PATIENCE_AT_THE_ORIGIN = 4;

/**
 * The same for a chunk that another node is still receiving. Any other node would have to get it
 * from the origin too, and the receiving node knows earlier and better whether a request helps.
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
