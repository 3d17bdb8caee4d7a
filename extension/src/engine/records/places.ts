/** Decides which downloads start, and which records are kept, as places for them are few. */

import { MAX_PER_HOST } from '../sources/host-slots.ts';
import { type DownloadRecord, hostOf } from './record.ts';

/** Most downloads at a time: fewer than connections, so that each download has one. */
const MAX_RUNNING = 16;
/** Most records, in any state. */
export const MAX_RECORDS = 500;

/** Returns whether one more download of a host could have a connection at once. */
export function hasRoom(host: string, busy: readonly string[]): boolean {
  return busy.length < MAX_RUNNING && busy.filter((one) => one === host).length < MAX_PER_HOST;
}

/**
 * Returns the downloads to start now: first those just taken from the browser, which had
 * connections for them, then the oldest. A download without room at its host does not delay others.
 *
 * @param running ids of the downloads under way
 * @param given hosts of the connections in use, one entry for each connection
 */
export function toStart(
  records: Iterable<DownloadRecord>,
  running: { has(id: string): boolean },
  given: readonly string[],
): DownloadRecord[] {
  const isTaken = ({ promised, storedBytes }: DownloadRecord) =>
    promised !== undefined && storedBytes === 0;
  const busy = [...given];
  return [...records]
    .filter(({ id, state }) => state === 'queued' && !running.has(id))
    .sort((a, b) => Number(isTaken(b)) - Number(isTaken(a)) || a.createdAt - b.createdAt)
    .filter((record) => {
      const host = hostOf(record);
      if (!hasRoom(host, busy)) return false;
      busy.push(host);
      return true;
    });
}

/** Returns the records to forget when there are too many: the oldest of the ended downloads. */
export function toForget(records: Iterable<DownloadRecord>): DownloadRecord[] {
  const all = [...records];
  return all
    .filter(({ state }) => state === 'complete' || state === 'error')
    .sort((a, b) => a.createdAt - b.createdAt)
    .slice(0, Math.max(0, all.length - MAX_RECORDS));
}

/** Returns whether there is a place for one more download: unfinished ones are never forgotten. */
export function hasPlace(records: Iterable<DownloadRecord>): boolean {
  let open = 0;
  for (const { state } of records) if (state !== 'complete' && state !== 'error') open++;
  return open < MAX_RECORDS;
}
