/**
 * Chooses bytes for a source that no request has asked for yet: how many, and how far from the
 * bytes that are needed next.
 */

import { type ByteRange, rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { ALIGN_BYTES, type BlockSizeInput, reachBytes, requestBytes } from './block-size.ts';
import { firstHeld } from './holdings.ts';
import type { Choice } from './running-request.ts';
import { isAlone, RETRY_MS, type SchedulerState, totalRate } from './scheduler-state.ts';
import type { KnownSource } from './source-table.ts';

/** Chooses bytes that no request covers, first in own chunks of the source (LOCI 3.2, rule 2). */
export function fetchFree(
  state: SchedulerState,
  source: KnownSource,
  now: Millis,
): Choice | undefined {
  const { stored, sources, reader, connections, throttled } = state;
  const known = sizeInput(state, source, now);
  const silent = !throttled && sources.isSilent(source, now);
  // Try a source that has fallen silent with bytes that are not needed soon.
  const probe = silent && (source.running === 0 || sources.silenceMs(source, now) > RETRY_MS);
  if (silent && !probe && sources.someAlive(now)) return undefined;
  const input: BlockSizeInput = probe ? { ...known, rate: undefined } : known;
  const behindMs = reader === undefined ? 0 : sources.shortestMs();
  const reach = probe ? (known.othersRate * RETRY_MS) / 1000 : reachBytes({ ...input, behindMs });
  const whole = { start: 0, end: stored.length };
  const free = (within: ByteRange, most: number) => freeRun(state, source, within, most);
  if (reader === undefined) {
    if (connections === 1 && !throttled && isAlone(state)) {
      const all = free(whole, Infinity);
      return all && { range: all, redundant: false, isOpenEnded: true };
    }
    const bytes = shareBytes(state, source, input);
    const own = source.own?.next(bytes, (within) => free(within, rangeBytes(within)));
    const run = own ?? free(whole, bytes * 1.25);
    // The other sources will bring all of these bytes earlier, unless they lack them.
    const late = reach > 0 && reach >= input.missing;
    if (run === undefined || (late && !sources.isSole(source, run.start))) return undefined;
    return fit(run, bytes);
  }
  // A source slower than the quickest begins further on, where its bytes come in time.
  const next = stored.nextMissing(reader.position);
  const start = Math.min(next + (sources.isSole(source, next) ? 0 : reach), stored.length);
  const urgent = start < reader.position + reader.lookAhead;
  const bytes = requestBytes({ ...input, urgent });
  const ahead = free({ start: Math.floor(start), end: whole.end }, bytes * 1.25);
  return fit(ahead ?? free({ start: 0, end: reader.position }, bytes * 1.25), bytes);
}

/** Returns what the size of a request to this source depends on. */
export function sizeInput(state: SchedulerState, source: KnownSource, now: Millis): BlockSizeInput {
  const { stored, sources, reader, connections, throttled, running } = state;
  const sole = reader === undefined && !throttled && sources.size === 1 && !source.hasPeers;
  const rate = throttled ? source.forecast.bytesPerSecond : sources.forecast(source, now);
  const othersRate = totalRate(state, now);
  // On a line that is full already, one more request gets no more than its share.
  const isFull = state.isOpenEnded && sole && othersRate > 0;
  const share = isFull ? othersRate / (running.length + 1) : Infinity;
  return {
    rate: rate === undefined ? undefined : Math.min(rate, share),
    firstByteMs: sources.firstByteMs(source),
    othersRate,
    missing: stored.length - stored.bytes,
    connections,
    urgent: false,
    sole,
  };
}

/** Returns the size of the next request to a source, at least 64 KiB, if no reader waits. */
export function shareBytes(
  { isProbing }: SchedulerState,
  source: KnownSource,
  input: BlockSizeInput,
): number {
  if (isProbing) return ALIGN_BYTES;
  return Math.max(ALIGN_BYTES, requestBytes(input) * (input.sole ? spread(source.asked) : 1));
}

/** Cuts free bytes to the size of a request, at an aligned position, without a small rest. */
function fit(run: ByteRange | undefined, bytes: number): Choice | undefined {
  if (run === undefined) return undefined;
  const { start } = run;
  let end = run.end;
  if (end - start > bytes * 1.2) {
    const aligned = Math.floor((start + bytes) / ALIGN_BYTES) * ALIGN_BYTES;
    end = aligned > start ? aligned : Math.ceil(start + bytes);
  }
  return { range: { start, end: Math.min(end, run.end) }, redundant: false };
}

/** Finds the first bytes of `within` that a source has and that are not stored or requested. */
function freeRun(
  state: SchedulerState,
  { holds }: KnownSource,
  within: ByteRange,
  most: number,
): ByteRange | undefined {
  if (holds === undefined) return freeWithin(state, within, most);
  const { end } = within;
  // Runs that are stored are passed over: a source has thousands of them, and each look would list them.
  for (let start = state.stored.nextMissing(within.start); start < end; ) {
    const run = firstHeld(holds, { start, end });
    const free = run && freeWithin(state, run, most);
    if (run === undefined || free !== undefined) return free;
    start = state.stored.nextMissing(run.end);
  }
  return undefined;
}

/** Finds the first bytes of `within` that are not stored or requested, at most `most`. */
function freeWithin(
  { stored, running }: SchedulerState,
  within: ByteRange,
  most: number,
): ByteRange | undefined {
  let start = stored.nextMissing(within.start);
  for (let moved = true; moved && start < within.end; ) {
    moved = false;
    for (const { position, end } of running) {
      if (position > start || end <= start) continue;
      start = stored.nextMissing(end);
      moved = true;
    }
  }
  let end = Math.min(within.end, Math.ceil(start + most));
  if (start >= end) return undefined;
  for (const request of running) {
    if (request.position > start && request.position < request.end) {
      end = Math.min(end, request.position);
    }
  }
  return { start, end: stored.nextStored(start, end) };
}

/**
 * Makes the lengths of requests to one source differ: requests that end at the same time leave the
 * line idle until their next answers come.
 */
function spread(request: number): number {
  return 0.7 + 0.6 * ((request * 0.618034) % 1);
}
