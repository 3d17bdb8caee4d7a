/** Shows downloads of the engine to the extension's pages. */

import type { ShownDownload } from '../../contract/taker.ts';
import type { DownloadRecord } from './record.ts';

/** Figures of a download that exist only while it runs. */
export interface LiveFigures {
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  /** Whether there is no source to ask at present. */
  readonly waiting: boolean;
}

/** Returns the download as pages show it. */
export function shown(record: DownloadRecord, live: LiveFigures | undefined): ShownDownload {
  const { id, fileName, length, createdAt, error, state } = record;
  const storedBytes = live?.storedBytes ?? record.storedBytes;
  const bytesPerSecond = live?.waiting === false ? Math.round(live.bytesPerSecond) : 0;
  const left = length === undefined ? undefined : length - storedBytes;
  return {
    taker: 'browser',
    id,
    name: fileName,
    status: statusOf(state, live),
    ...(length === undefined ? {} : { length }),
    storedBytes,
    bytesPerSecond,
    ...(left === undefined || bytesPerSecond === 0
      ? {}
      : { etaMs: Math.round((left * 1000) / bytesPerSecond) }),
    createdAt,
    ...(error === undefined ? {} : { error }),
  };
}

function statusOf(
  state: DownloadRecord['state'],
  live: LiveFigures | undefined,
): ShownDownload['status'] {
  if (state === 'saving' || state === 'browser') return 'active';
  if (state !== 'queued') return state;
  if (live === undefined) return 'queued';
  return live.waiting ? 'waiting' : 'active';
}
