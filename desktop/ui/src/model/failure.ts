/** Finds remedies for a download that has failed. */

import type { ErrorCode } from '@millrace/shared/base/errors';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';

/**
 * Remedies. retry: once more; newLink: another URL of the same file; change: folder or name;
 * edges, proxy: the settings of that name.
 */
export type Remedy = 'retry' | 'newLink' | 'change' | 'edges' | 'proxy';

const REMEDIES: Readonly<Partial<Record<ErrorCode, Remedy>>> = {
  'origin-not-found': 'newLink',
  'origin-gone': 'newLink',
  'origin-denied': 'newLink',
  'too-many-redirects': 'newLink',
  'bad-redirect': 'newLink',
  'no-tls': 'newLink',
  'different-file': 'newLink',
  'wrong-range': 'newLink',
  'wrong-encoding': 'newLink',
  'version-unproven': 'newLink',
  'malformed-response': 'newLink',
  'file-exists': 'change',
  'file-not-writable': 'change',
  'file-in-use': 'change',
  'checksum-mismatch': 'change',
  'bad-signature': 'newLink',
  'proxy-failed': 'proxy',
  'proxy-denied': 'proxy',
  'origin-not-allowed': 'edges',
  'origin-login': 'edges',
  'private-address': 'edges',
  'no-signed-links': 'edges',
};

/** Returns the action that helps most; trying again is always possible as well. */
export function remedyOf({ error, expiredLink }: DownloadView): Remedy {
  if (expiredLink) return 'newLink';
  return REMEDIES[error?.code as ErrorCode] ?? 'retry';
}

export function canPause({ status }: DownloadView): boolean {
  return status === 'active' || status === 'queued' || status === 'waiting';
}

export function canResume({ status }: DownloadView): boolean {
  return status === 'paused';
}

export function canRetry({ status }: DownloadView): boolean {
  return status === 'error' || status === 'removed' || status === 'waiting';
}

/** Returns true for a complete download with a file; one of a followed description may have none. */
export function hasFile({ status, path }: DownloadView): boolean {
  return status === 'complete' && path !== undefined;
}

/** Returns true for a file that Millrace has downloaded itself, and may replace. */
export function canRepair(row: DownloadView): boolean {
  return hasFile(row) && row.startedAt !== undefined;
}

/**
 * Returns true for a file that no digest has shown to be right: its details offer a repair. The menu
 * offers it for all files, which may have been damaged later.
 */
export function suggestsRepair(row: DownloadView): boolean {
  return canRepair(row) && row.digest === undefined;
}

export function isQueued({ status }: DownloadView): boolean {
  return status === 'queued' || status === 'waiting' || status === 'paused';
}

/** Returns the stored share of the file, 0 to 1; undefined where it is not known. */
export function shareOf({ status, length, storedBytes }: DownloadView): number | undefined {
  if (status === 'complete') return 1;
  if (length === undefined) return undefined;
  return length === 0 ? 1 : Math.min(1, storedBytes / length);
}
