/**
 * Requests without an end of their own: while a source needs only one connection, one request asks
 * for all the rest, and its connection keeps its window and its place in the file. Other requests
 * take their bytes from its end, so that it can go on if they turn out not to be needed.
 */

import { type ByteRange, rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { ALIGN_BYTES, requestBytes } from './block-size.ts';
import { shareBytes, sizeInput } from './free-space.ts';
import { missingOf, type RunningRequest } from './running-request.ts';
import { isAlone, type SchedulerState } from './scheduler-state.ts';
import type { KnownSource } from './source-table.ts';

/**
 * Most bytes that it keeps before it once other requests are made: some file systems fill the gap
 * before a byte that is written far ahead with zeros.
 */
const MOST_AHEAD_BYTES = 1024 * 1024 * 1024;

/**
 * Shortens the request once others are made: to what a new request would ask for if a reader waits
 * or there are several sources, which may be quicker; otherwise only on files that are very long.
 */
export function boundOpenEnded(state: SchedulerState, asking: KnownSource, now: Millis): void {
  const request = openEnded(state);
  const source = request && state.sources.get(request.source);
  if (request === undefined || source === undefined) return;
  // The origin asks for work behind an edge only once that edge brings next to nothing.
  const isSole = state.reader === undefined && isAlone(state) && source === asking;
  const rate = state.sources.rate(request, now);
  const own = isSole ? MOST_AHEAD_BYTES : requestBytes({ ...sizeInput(state, source, now), rate });
  const end = Math.ceil((request.position + own) / ALIGN_BYTES) * ALIGN_BYTES;
  if (!isSole) request.isOpenEnded = false;
  if (end >= request.end) return;
  request.cutAt(end);
  state.sources.reopen(end);
}

/** Chooses bytes for another request at the end of the open-ended one, which keeps as many. */
export function tailOfOpenEnded(
  state: SchedulerState,
  source: KnownSource,
  now: Millis,
): ByteRange | undefined {
  const request = openEnded(state);
  if (request === undefined || request.source !== source.id) return undefined;
  const rest = missingOf(request, state.stored);
  const bytes = shareBytes(state, source, sizeInput(state, source, now));
  if (rangeBytes(rest) < 2 * bytes) return undefined;
  const start = Math.floor((rest.end - bytes) / ALIGN_BYTES) * ALIGN_BYTES;
  return { start: Math.max(rest.start, start), end: rest.end };
}

function openEnded({ running }: SchedulerState): RunningRequest | undefined {
  return running.find(({ isOpenEnded }) => isOpenEnded);
}
