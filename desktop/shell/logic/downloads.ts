/** What the shell remembers of the downloads, out of what the daemon tells. */

import type { DownloadView } from '@millrace/shared/bridge/daemon-api';

/** As much of a download as the shell looks at. */
export type ShellDownload = Pick<
  DownloadView,
  'gid' | 'name' | 'status' | 'length' | 'storedBytes' | 'bytesPerSecond'
>;

/** Everything that runs, or would run, by gid. */
export type Downloads = ReadonlyMap<string, ShellDownload>;

const UNFINISHED: readonly DownloadView['status'][] = ['active', 'queued', 'waiting'];
/** More are not remembered: tray and taskbar show what runs, and no more than this can. */
const MAX_REMEMBERED = 5000;

export interface Totals {
  readonly active: number;
  /** Queued, or waiting for another try. */
  readonly waiting: number;
  readonly bytesPerSecond: number;
  /** Of what runs, 0 to 1; undefined while no length is known. */
  readonly share: number | undefined;
  /** Milliseconds until what runs is done, at the speed of now. */
  readonly etaMs: number | undefined;
}

/** The memory after downloads have changed. */
export function withChanges(before: Downloads, changed: readonly ShellDownload[]): Downloads {
  const after = new Map(before);
  for (const download of changed) {
    if (!UNFINISHED.includes(download.status)) after.delete(download.gid);
    else if (after.has(download.gid) || after.size < MAX_REMEMBERED) {
      after.set(download.gid, download);
    }
  }
  return after;
}

/** The memory after downloads have been taken off the list. */
export function without(before: Downloads, gids: readonly string[]): Downloads {
  const after = new Map(before);
  for (const gid of gids) after.delete(gid);
  return after;
}

/** What all downloads together come to. */
export function totals(downloads: Downloads): Totals {
  let [active, waiting, bytesPerSecond, stored, length] = [0, 0, 0, 0, 0];
  for (const download of downloads.values()) {
    if (download.status !== 'active') {
      waiting++;
      continue;
    }
    active++;
    bytesPerSecond += download.bytesPerSecond;
    // One whose length nobody knows says nothing about how far things are.
    if (download.length === undefined) continue;
    length += download.length;
    stored += Math.min(download.storedBytes, download.length);
  }
  const known = length > 0;
  return {
    active,
    waiting,
    bytesPerSecond,
    share: known ? stored / length : undefined,
    etaMs:
      known && bytesPerSecond > 0
        ? Math.round(((length - stored) / bytesPerSecond) * 1000)
        : undefined,
  };
}
