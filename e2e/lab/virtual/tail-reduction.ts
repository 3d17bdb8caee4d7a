/**
 * Computes a response's gain if its slowest chunks had taken the median time (WORLDS 4.1 and table
 * 3): replaces their times, moves everything that waited for them forward, and measures the whole
 * response again.
 */

import type { Millis } from '@millrace/shared/base/clock';

/** One chunk of a response that was sent in order, first chunk first. */
export interface TimedChunk {
  readonly startedAt: Millis;
  readonly readyAt: Millis;
  /** Time at which the client had received the chunk. */
  readonly sentAt: Millis;
  /** The chunk whose end made room for this one; undefined for the first chunks. */
  readonly after: number | undefined;
}

/**
 * Returns the duration that the response would have had.
 *
 * @param share share of slowest chunks to replace, 0 to 1; rounded up to whole chunks
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
    // Sending takes the time since the chunk was ready and it was its turn.
    const turn = Math.max(chunk.readyAt, i === 0 ? first : (chunks[i - 1] as TimedChunk).sentAt);
    sent.push(Math.max(ready, before) + chunk.sentAt - turn);
  }
  return (sent.at(-1) ?? first) - first;
}
