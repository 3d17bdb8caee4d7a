/** Journals that a crash has left, of downloads whose completion had just been recorded. */

import type { DownloadFactory } from '../queue/contract.ts';
import type { DownloadStore } from '../store/download-store.ts';

/** Downloads checked, the latest first: more than ever run, and so end, at one time. */
const MAX_LOOKED_AT = 64;

/**
 * Deletes them.
 *
 * @param isTaken whether an unfinished download has that path
 */
export async function removeLeftJournals(
  store: DownloadStore,
  { removeJournal }: Pick<DownloadFactory, 'removeJournal'>,
  isTaken: (path: string, by: string) => boolean,
): Promise<void> {
  const page = { offset: 0, limit: MAX_LOOKED_AT };
  for (const { gid, path, request } of store.history({ states: ['complete'] }, page).records) {
    if (path === undefined || isTaken(path, gid)) continue;
    // Where the folder is away, the next start looks again.
    await removeJournal(path, request.urls).catch(() => {});
  }
}
