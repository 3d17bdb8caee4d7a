/** Deletes journals that a crash left after the completion of their downloads was recorded. */

import { journalUrls } from '@millrace/shared/download/request/request';
import type { DownloadFactory } from '../queue/contract.ts';
import type { DownloadStore } from '../store/download-store.ts';

/** Number of the latest downloads to check: more than ever run, and so end, at one time. */
const MAX_LOOKED_AT = 64;

/**
 * Deletes the journals of the latest complete downloads.
 *
 * @param isTaken returns true if an unfinished download has that path
 */
export async function removeLeftJournals(
  store: DownloadStore,
  { removeJournal }: Pick<DownloadFactory, 'removeJournal'>,
  isTaken: (path: string, by: string) => boolean,
): Promise<void> {
  const page = { offset: 0, limit: MAX_LOOKED_AT };
  for (const { gid, path, request } of store.history({ states: ['complete'] }, page).records) {
    if (path === undefined || isTaken(path, gid)) continue;
    // If the folder is not available, the next start tries again.
    await removeJournal(path, journalUrls(request)).catch(() => {});
  }
}
