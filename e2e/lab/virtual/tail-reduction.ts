/**
 * Computes a response's gain if its slowest chunks had taken the median time (WORLDS 4.1 and table
 * 3): their times are replaced, everything that waited for them moves forward, and the whole is
 * timed again.
 */

import type { Millis } from '@millrace/shared/base/clock';

/** One chunk of a response that was sent in order, first chunk first. */
export interface TimedChunk {
  readonly startedAt: Millis;
  readonly readyAt: Millis;
  /** When the client had taken it. */
  readonly sentAt: Millis;
  /** The chunk whose end made room for this one; undefined for the first ones. */
  readonly after: number | undefined;
}

/**
 * Duration of the response without the tail.
 *
 * @param share of the chunks, the slowest ones, 0 to 1; a part of a chunk counts as one
 */
export function timeWithoutTail(chunks: readonly TimedChunk[], share: number): Millis {
  const durations = chunks.map(({ startedAt, readyAt }) => readyAt - startedAt);
  const sorted = [...durations].sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1] as number;
  const replaced = Math.ceil(share * chunks.length);
  const limit = replaced === 0 ? Number.POSITIVE_INFINITY : (sorted.at(-replaced) as number);
  const first = chunks[0]?.startedAt ?? 0;
  const sent: Millis[] = [];
  for (const [i, chunk] of chunks.entries()) {
    const before = i === 0 ? first : (sent[i - 1] as number);
    const origin = chunk.after === undefined ? first : (chunks[chunk.after]?.sentAt ?? first);
    const lag = chunk.startedAt - origin;
    const room = chunk.after === undefined ? first : (sent[chunk.after] ?? before);
    const duration = durations[i] as number;
    const ready = room + lag + (duration >= limit ? Math.min(duration, middle) : duration);
    // Time of handing it over: from when it was there, and its turn.
    const turn = Math.max(chunk.readyAt, i === 0 ? first : (chunks[i - 1] as TimedChunk).sentAt);
    sent.push(Math.max(ready, before) + chunk.sentAt - turn);
  }
  return (sent.at(-1) ?? first) - first;
}
