/** A file that was sent, as pages and commands show it. */

import type { Millis } from '@millrace/shared/base/clock';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadFailure } from '@millrace/shared/bridge/rpc/daemon-api';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { shownState } from '@millrace/shared/share/share-state';
import type { KeptShare } from '../store/share-store.ts';

/** State of a file that ends with the daemon. */
export interface ShareProgress {
  readonly sentBytes: number;
  /** Copies of the whole file that are stored. */
  readonly copies?: number | undefined;
  readonly changing?: ShareView['changing'];
  readonly repair?: ShareView['repair'];
}

export function shareViewOf(share: KeptShare, progress: ShareProgress, now: Millis): ShareView {
  const { id, name, bytes, seconds, copies, createdAt, link, wholeFile } = share;
  const { depots, expires, revokeAt, trouble } = share;
  const totalBytes = bytes * copies;
  const isThere = share.state === 'shared';
  const isStored = isThere && share.invitation === undefined;
  const guestFile = isThere ? share.invitation?.file : undefined;
  return {
    ...{ id, name, bytes, seconds, createdAt, link, wholeFile, expires, revokeAt },
    encrypted: share.encrypts === true,
    ...(share.invitation === undefined ? {} : { invitation: true, guestFile }),
    state: shownState(share, now),
    ...{ changing: progress.changing, repair: progress.repair },
    sentBytes: isStored ? totalBytes : Math.min(totalBytes, progress.sentBytes),
    totalBytes,
    ...(isThere || copies < 2 ? {} : { copies: { stored: progress.copies ?? 0, wanted: copies } }),
    places: share.places ?? depots.map((depot) => ({ depot, bytes: 0 })),
    trouble: trouble && problemOf(new MillraceError(trouble.code as ErrorCode, trouble.detail)),
  };
}

/** Returns an error as it is shown. */
export function problemOf({ code, message, detail, row }: MillraceError): DownloadFailure {
  return { code, message, detail, advice: row.advice, retryable: row.retryable };
}
