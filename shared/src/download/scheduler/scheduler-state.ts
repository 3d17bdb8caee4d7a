/** The state on which the scheduler's decisions depend. */

import type { Millis } from '../../base/clock.ts';
import type { StoredMap } from '../journal/stored-map.ts';
import type { RunningRequest } from './running-request.ts';
import type { KnownSource, SourceTable } from './source-table.ts';

/** Pause before a silent source is tried again, and the time before its bytes are needed. */
export const RETRY_MS = 5000;

/** The state on which all decisions depend. */
export interface SchedulerState {
  connections: number;
  /** True while requests only serve to time their answers, and are as small as may be. */
  isProbing: boolean;
  /** True if the download may begin with one request for all the rest. */
  readonly isOpenEnded: boolean;
  /** Sources that share the work; undefined: all of them. */
  sharing: number | undefined;
  /** Most requests for one byte at a time. */
  readonly copies: number;
  /** A request is late when more requests than this have overtaken it. */
  readonly progress: number;
  readonly redundantBytes: number;
  readonly stored: StoredMap;
  readonly sources: SourceTable;
  readonly running: RunningRequest[];
  /** Bytes that have come in twice. */
  spent: number;
  /** The reader of the file while it comes in; undefined: none. */
  reader: { readonly position: number; readonly lookAhead: number } | undefined;
  /** True while the client holds its sources back: their silence is then not their fault. */
  throttled: boolean;
}

/** Returns true if one source does all the work: others are not known, or stand back. */
export function isAlone({ sharing, sources }: SchedulerState): boolean {
  return (sharing ?? sources.size) <= 1;
}

/** Bytes per second that all requests bring at present. */
export function totalRate({ running, sources }: SchedulerState, now: Millis): number {
  return running.reduce((sum, r) => sum + (sources.rate(r, now) ?? 0), 0);
}

/**
 * Forecasts the bytes per second that all requests to a source bring; undefined: it has shown
 * nothing yet.
 */
export function paceOf(
  { running, sources }: SchedulerState,
  source: KnownSource,
  now: Millis,
): number | undefined {
  const own = running.filter((request) => request.source === source.id);
  const usual = source.forecast.bytesPerSecond;
  if (usual === undefined && own.every(({ rate }) => rate.firstByteAt === undefined)) {
    return undefined;
  }
  if (own.length === 0) return usual;
  return own.reduce((sum, request) => sum + (sources.rate(request, now) ?? 0), 0);
}
