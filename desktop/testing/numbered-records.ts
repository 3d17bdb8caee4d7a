/** Downloads that a number names; for Jest only. */

import { newRecord } from '../engine/downloads/new-download.ts';
import type { DownloadRecord } from '../engine/store/record.ts';

/** Unix milliseconds at which all of it happens. */
export const NOW = Date.UTC(2026, 10, 21);

/** Makes a new download, named by a number. */
export function record(number: number, part: Partial<DownloadRecord> = {}): DownloadRecord {
  const gid = number.toString(16).padStart(16, '0');
  const urls = [`https://host${number % 3}.example/dir/file-${number}.iso`];
  const around = { gid, dir: '/downloads', categories: [], now: NOW + number };
  return { ...newRecord({ urls }, around), rank: number, ...part };
}

/** Makes a complete download. */
export const finished = (number: number, part: Partial<DownloadRecord> = {}) =>
  record(number, { state: 'complete', finishedAt: NOW + number, ...part });

/** Returns the numbers of downloads. */
export const gids = (records: readonly DownloadRecord[]) =>
  records.map((r) => Number(`0x${r.gid}`));
