/**
 * Decides which bytes a free connection fetches first. The decisions follow the rules of LOCI 3.2,
 * with forecasts (LOCI 5), and with takeovers before redundancy.
 */

import { type ByteRange, rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { ALIGN_BYTES, type BlockSizeInput, requestBytes } from './block-size.ts';
import { fetchFree } from './free-space.ts';
import { firstHeld, lastHeld } from './holdings.ts';
import { tailOfOpenEnded } from './open-ended.ts';
import {
  type Choice,
  missingOf,
  type RunningRequest,
  redundantBytesToCome,
  sharedBytes,
} from './running-request.ts';
import { RETRY_MS, type SchedulerState, totalRate } from './scheduler-state.ts';
import type { KnownSource, Pace } from './source-table.ts';
import { isWorth, takeoverStart } from './takeover.ts';

/** Time, in ms, within which a reader would reach bytes that are rescued, at the present rate. */
const RESCUE_MS = 2000;
/** Multiple of its expected time after which a request is late. */
const LATE = 2;

/** Forecast for a new request to a source. */
interface NewRequest {
  readonly source: KnownSource;
  readonly rate: number;
  readonly firstByteMs: Millis;
  /** False: the rate is a guess, because nothing is known of the source. */
  readonly known: boolean;
}

/** Chooses the next request of a free connection of `source`; undefined: none. */
export function choose(
  state: SchedulerState,
  source: KnownSource,
  now: Millis,
): Choice | undefined {
  if (state.sources.yields(source, now)) return undefined;
  if (state.throttled) return fetchFree(state, source, now) ?? takeTail(state, source, now);
  if (state.sources.isSilent(source, now)) {
    return (
      fetchFree(state, source, now) ??
      retrySilent(state, source, now) ??
      probeSilent(state, source, now)
    );
  }
  const fresh = newRequestTo(state, source, now);
  return (
    rescue(state, fresh, now) ??
    fetchFree(state, source, now) ??
    takeTail(state, source, now) ??
    takeOverLast(state, source, fresh, now) ??
    duplicateLast(state, fresh, now)
  );
}

/**
 * Asks a source that has fallen silent for bytes that no other request brings either: perhaps only
 * a connection has died.
 */
function retrySilent(state: SchedulerState, source: KnownSource, now: Millis): Choice | undefined {
  for (const request of state.running) {
    const rest = restFor(state, source, request);
    if (rest !== undefined && now - request.rate.heardAt > RETRY_MS) return takeOver(state, rest);
  }
  return undefined;
}

/**
 * Gives the end of a request that needs far longer than a probe to a silent source that owes
 * nothing: its last request may have been ended for another reason, or the client may have stood
 * still itself. If the source stays silent, others take these bytes back before they are late.
 */
function probeSilent(state: SchedulerState, source: KnownSource, now: Millis): Choice | undefined {
  if (source.running > 0) return undefined;
  if (source.probedAt !== undefined && now - source.probedAt < RETRY_MS) return undefined;
  const { bytesPerSecond } = source.forecast;
  const rate = bytesPerSecond ?? state.sources.averageRate();
  if (rate === undefined || rate === 0) return undefined;
  const firstByteMs = state.sources.firstByteMs(source) + RETRY_MS;
  const known = bytesPerSecond !== undefined;
  const choice = takeOverLast(state, source, { source, rate, firstByteMs, known }, now);
  if (choice !== undefined) source.probedAt = now;
  return choice;
}

/**
 * Finds the first run of a request's missing bytes that a source has. Bytes behind it may be stored:
 * an answer may bring its parts in any order.
 */
function restFor(
  { stored }: SchedulerState,
  { holds }: KnownSource,
  { position, end }: RunningRequest,
): ByteRange | undefined {
  const limit = Math.min(end, stored.length);
  for (let start = stored.nextMissing(position); start < limit; ) {
    const gap = { start, end: stored.nextStored(start, limit) };
    const run = firstHeld(holds, gap);
    if (run !== undefined) return run;
    start = stored.nextMissing(gap.end);
  }
  return undefined;
}

function newRequestTo(
  state: SchedulerState,
  source: KnownSource,
  now: Millis,
): NewRequest | undefined {
  const { sources } = state;
  const rate = sources.expectation(source, now);
  if (rate === undefined || rate === 0) return undefined;
  const known = source.forecast.bytesPerSecond !== undefined;
  return { source, rate, firstByteMs: sources.patientMs(source), known };
}

/**
 * Repeats at this source a request that more than P have overtaken (LOCI 3.2, rule 1), but only if
 * it takes longer than expected: here requests to slow sources are small, not late. Bytes that a
 * reader waits for come first, overtaken or not: an earlier deadline is never sacrificed for a
 * later one.
 */
function rescue(
  state: SchedulerState,
  fresh: NewRequest | undefined,
  now: Millis,
): Choice | undefined {
  if (fresh === undefined || !fresh.known) return undefined;
  const { running, reader, progress, copies, redundantBytes } = state;
  // Bytes that a reader needs later can be rescued later.
  const ahead = Math.min(reader?.lookAhead ?? 0, (totalRate(state, now) * RESCUE_MS) / 1000);
  const awaited = (r: RunningRequest) =>
    reader !== undefined && r.end > reader.position && r.position < reader.position + ahead;
  const isLate = (r: RunningRequest) =>
    copies > 1 && r.overtaken > progress && now - r.startedAt > LATE * (r.dueAt - r.startedAt);
  const late = running.filter((r) => awaited(r) || isLate(r));
  // Without a reader, keep half of the bytes that may come in twice for the end.
  const kept = reader === undefined ? redundantBytes / 2 : 0;
  for (const request of late.sort((a, b) => a.position - b.position)) {
    const rest = restFor(state, fresh.source, request);
    if (rest === undefined) continue;
    const pace = bestPace(state, request, now);
    const ms = fresh.firstByteMs + (rangeBytes(rest) * 1000) / fresh.rate;
    if (pace === undefined || !isWorth(pace.etaMs / 2, ms)) continue;
    const choice = duplicate(state, request, fresh, pace, kept);
    if (choice !== undefined) return choice;
    if (awaited(request)) return takeOver(state, rest);
  }
  return undefined;
}

/** Takes bytes from the end of a request that asked for all the rest. */
function takeTail(state: SchedulerState, source: KnownSource, now: Millis): Choice | undefined {
  const tail = tailOfOpenEnded(state, source, now);
  return tail && takeOver(state, tail);
}

/** Takes the end of the request that would be the last to finish, so that both finish together. */
function takeOverLast(
  state: SchedulerState,
  source: KnownSource,
  fresh: NewRequest | undefined,
  now: Millis,
): Choice | undefined {
  const tailOf = (request: RunningRequest) =>
    lastHeld(source.holds, missingOf(request, state.stored));
  const last = slowest(state, now, (request) => tailOf(request) !== undefined);
  if (last === undefined) return undefined;
  const { request, pace } = last;
  // One connection is as fast as several: a new one would only have to find its rate again.
  const isEnough = request.isOpenEnded && (state.connections === 1 || state.isProbing);
  if (isEnough && pace.rate > 0) return undefined;
  // The parts of a source can change between two looks.
  const tail = tailOf(request);
  if (tail === undefined) return undefined;
  const { start: position, end } = tail;
  if (fresh === undefined) {
    // Nothing is known of any source: only a request that stands still is worth a try.
    return pace.rate === 0 ? takeOver(state, { start: position, end }) : undefined;
  }
  // Nothing shows that an unknown source is as slow as the others: let it try. A request that has
  // just begun is perhaps such a trial itself: two of them would take the bytes from each other.
  const isSlow = request.rate.firstByteAt !== undefined && pace.etaMs > RETRY_MS;
  const isTrial = !fresh.known && source.running === 0 && isSlow;
  const gained = takeoverStart({
    position,
    end,
    ...pace,
    newRate: fresh.rate,
    newFirstByteMs: fresh.firstByteMs,
  });
  const start = gained ?? (isTrial ? position : undefined);
  if (start === undefined) return undefined;
  // An unknown source gets no more than its first request.
  const most = fresh.known ? end : requestBytes({ ...FIRST_REQUEST, missing: end - start });
  return takeOver(state, { start: Math.max(start, end - most), end });
}

const FIRST_REQUEST: BlockSizeInput = {
  rate: undefined,
  firstByteMs: 0,
  othersRate: 0,
  missing: 0,
  connections: 1,
  urgent: false,
};

/** Chooses bytes that other requests are already fetching, at the end (LOCI 3.2, rule 3). */
function duplicateLast(
  state: SchedulerState,
  fresh: NewRequest | undefined,
  now: Millis,
): Choice | undefined {
  if (fresh === undefined || !fresh.known) return undefined;
  const last = slowest(state, now, (r) => restFor(state, fresh.source, r) !== undefined);
  if (last === undefined) return undefined;
  const { request, pace } = last;
  const { position: start, end } = request;
  const ms = fresh.firstByteMs + ((end - start) * 1000) / fresh.rate;
  return ms < pace.etaMs ? duplicate(state, request, fresh, pace, 0) : undefined;
}

/**
 * Asks another source, forecast to be faster, for the rest of a request, but only while all bytes
 * that could come in twice stay within `redundantBytes`.
 *
 * @param kept bytes of that allowance that are not to be used
 */
function duplicate(
  state: SchedulerState,
  request: RunningRequest,
  fresh: NewRequest,
  pace: Pace,
  kept: number,
): Choice | undefined {
  const { running, stored, copies, redundantBytes, spent } = state;
  if (fresh.rate <= pace.rate) return undefined;
  const rivals = running.filter((r) => r === request || sharedBytes(r, request) > 0);
  if (rivals.length >= copies || rivals.some((r) => r.source === fresh.source.id)) return undefined;
  const rest = restFor(state, fresh.source, request);
  if (rest === undefined) return undefined;
  const { start } = rest;
  const allowed = redundantBytes - kept - spent - redundantBytesToCome(running, stored);
  const bytes = Math.min(rangeBytes(rest), allowed);
  if (bytes <= 0 || bytes < Math.min(rangeBytes(rest), ALIGN_BYTES)) return undefined;
  return { range: { start, end: Math.floor(start + bytes) }, redundant: true };
}

/**
 * Gives bytes to a new request, and makes all other requests for them stop before. The new one asks
 * for the first of them that are not stored, up to the next stored byte.
 *
 * @param wanted bytes of which the last one, at least, is not stored
 */
function takeOver(state: SchedulerState, wanted: ByteRange): Choice {
  const start = state.stored.nextMissing(wanted.start);
  const range = { start, end: state.stored.nextStored(start, wanted.end) };
  for (const request of state.running) {
    if (request.end > range.start && request.position < range.end) {
      // The bytes beyond the range are free again.
      if (request.end > range.end) state.sources.reopen(range.end);
      request.cutAt(range.start);
      // Others may have stored what is left to it.
      if (state.stored.nextMissing(request.position) >= request.end) request.obsolete = true;
    }
  }
  return { range, redundant: false };
}

/** Finds the eligible request that will be the last to finish as things stand. */
function slowest(
  state: SchedulerState,
  now: Millis,
  eligible: (request: RunningRequest) => boolean,
): { request: RunningRequest; pace: Pace } | undefined {
  let last: { request: RunningRequest; pace: Pace } | undefined;
  for (const request of state.running) {
    if (state.stored.nextMissing(request.position) >= request.end || !eligible(request)) continue;
    const pace = bestPace(state, request, now);
    if (pace !== undefined && pace.etaMs > (last?.pace.etaMs ?? 0)) last = { request, pace };
  }
  return last;
}

/** Forecasts when the bytes of a request will be stored, by the quickest request for them. */
function bestPace(state: SchedulerState, request: RunningRequest, now: Millis): Pace | undefined {
  let best = state.sources.pace(request, now);
  for (const other of state.running) {
    if (other === request || sharedBytes(other, request) === 0) continue;
    const pace = state.sources.pace(other, now);
    if (pace === undefined) return undefined;
    if (best === undefined || pace.etaMs < best.etaMs) best = pace;
  }
  return best;
}
