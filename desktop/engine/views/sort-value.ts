/** Values by which lists are sorted. */

import { DOWNLOAD_STATUSES, type DownloadStatus } from '@millrace/shared/bridge/rpc/daemon-api';

/** Undefined means unknown, which comes last. */
export type SortValue = string | number | undefined;

/** Order of statuses, from running to finished. */
export const STATUS_ORDER: readonly DownloadStatus[] = DOWNLOAD_STATUSES;

/** Returns the stored share of a download, 0 to 1; undefined if its length is unknown. */
export function progressShare(of: {
  readonly length?: number | undefined;
  readonly storedBytes: number;
}): number | undefined {
  if (of.length === undefined) return undefined;
  return of.length === 0 ? 1 : of.storedBytes / of.length;
}
