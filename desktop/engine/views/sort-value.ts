/** Values that lists are sorted by. */

import { DOWNLOAD_STATUSES, type DownloadStatus } from '@millrace/shared/bridge/rpc/daemon-api';

/** undefined: not known, comes last. */
export type SortValue = string | number | undefined;

/** Order of statuses, from running to over. */
export const STATUS_ORDER: readonly DownloadStatus[] = DOWNLOAD_STATUSES;

/** 0 to 1. */
export function progressShare(of: {
  readonly length?: number | undefined;
  readonly storedBytes: number;
}): number | undefined {
  if (of.length === undefined) return undefined;
  return of.length === 0 ? 1 : of.storedBytes / of.length;
}
