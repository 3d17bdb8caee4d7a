/** Checks that there is room for one more download, its copy in the user's folder included. */

import { formatBytes } from '@millrace/shared/base/units';
import type { DownloadRecord } from './record.ts';

const MIB = 1024 * 1024;
/** Bytes of the quota that are left to other uses. */
const RESERVE_BYTES = 64 * MIB;

/** Result of `navigator.storage.estimate()`, bytes. */
export interface StorageEstimate {
  readonly quota?: number | undefined;
  readonly usage?: number | undefined;
}

/**
 * Returns the reason why a download does not fit, as a text for the user; undefined if it fits.
 *
 * @param length length of the new download, bytes
 */
export function lackOfRoom(
  { quota, usage }: StorageEstimate,
  length: number,
  others: Iterable<DownloadRecord>,
): string | undefined {
  if (quota === undefined) return undefined;
  const free = quota - (usage ?? 0) - RESERVE_BYTES;
  let promised = 0;
  for (const other of others) {
    if (other.state === 'complete' || other.length === undefined) continue;
    promised += 2 * other.length - other.storedBytes;
  }
  // A file takes room once while it is fetched, and again while it is copied to the user's folder.
  const most = Math.max(0, Math.floor((free - promised) / 2));
  if (length <= most) return undefined;
  return (
    `The browser has no room for a download of ${formatBytes(length)}: ` +
    `${formatBytes(most)} at most fit at present`
  );
}
