/**
 * Avoids a slow last percent: when every byte has been requested, a free connection takes over the
 * end of the request that would be the last to finish. No byte is requested twice; a few bytes that
 * were already on their way are wasted.
 */

import type { Millis } from '../../base/clock.ts';

/** Smallest gain that is worth a new request: a share of the remaining time, and milliseconds. */
const MIN_GAIN_SHARE = 0.2;
const MIN_GAIN_MS = 250;
/** Smallest gain, in ms, where nothing else is left to do for the connection that takes over. */
const MIN_END_GAIN_MS = 100;
/** Smallest remainder that is left to the slower request, in bytes. */
const MIN_REST_BYTES = 16 * 1024;

export interface TakeoverInput {
  /** First byte that the request under way has not brought. */
  readonly position: number;
  readonly end: number;
  /** Time until it would be finished at `rate`; infinite for a request that stands still. */
  readonly etaMs: Millis;
  /** Bytes per second that it brings; 0 or more. */
  readonly rate: number;
  /** Time until it brings its next byte: 0 unless its answer has not begun. */
  readonly waitMs: Millis;
  /** Bytes per second of the request that takes over, more than 0, and its time to first byte. */
  readonly newRate: number;
  readonly newFirstByteMs: Millis;
}

/**
 * Finds where to cut a request in two so that both parts finish together.
 *
 * @returns the first byte to take over; undefined if too little would be gained
 */
export function takeoverStart(input: TakeoverInput): number | undefined {
  const { position, end, etaMs, rate, waitMs, newRate, newFirstByteMs } = input;
  const left = end - position;
  const headStart = (rate * (newFirstByteMs - waitMs)) / 1000;
  const keep = (headStart + (left * rate) / newRate) / (1 + rate / newRate);
  const kept = keep < MIN_REST_BYTES ? 0 : Math.ceil(keep);
  if (kept >= left) return undefined;
  const newMs = newFirstByteMs + ((left - kept) * 1000) / newRate;
  // A request that keeps some bytes has to bring them, however little it brings beyond them.
  const ms = kept === 0 ? newMs : Math.max(newMs, waitMs + (kept * 1000) / rate);
  const gainMs = Math.min(MIN_GAIN_MS, Math.max(MIN_END_GAIN_MS, 2 * newFirstByteMs));
  return isWorth(etaMs, ms, gainMs) ? position + kept : undefined;
}

/**
 * Returns true if being done in `newMs` instead of `etaMs` is worth a new request.
 *
 * @param gainMs smallest gain
 */
export function isWorth(etaMs: Millis, newMs: Millis, gainMs: Millis = MIN_GAIN_MS): boolean {
  return newMs < etaMs * (1 - MIN_GAIN_SHARE) && newMs < etaMs - gainMs;
}
