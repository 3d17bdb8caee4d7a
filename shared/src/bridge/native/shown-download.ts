/** Makes the extension's view of a download, which holds less than that of the app's page. */

import type { DownloadView } from '../rpc/daemon-api.ts';
import type { NativeDownload } from './native-api.ts';

const MAX_NAME_CHARS = 255;
const MAX_MESSAGE_CHARS = 500;

/** Statuses of the downloads that lists show; removed downloads are in no list. */
export const LISTED = ['active', 'queued', 'waiting', 'paused', 'complete', 'error'] as const;

/** Returns the view of a download; undefined if lists do not show it. */
export function shownDownload(view: DownloadView): NativeDownload | undefined {
  const { gid, name, length, storedBytes, bytesPerSecond, etaMs, createdAt, error } = view;
  const status = LISTED.find((one) => one === view.status);
  if (status === undefined) return undefined;
  return {
    gid,
    name: name.slice(0, MAX_NAME_CHARS),
    status,
    length,
    storedBytes,
    bytesPerSecond,
    etaMs,
    createdAt,
    error: error && {
      code: error.code,
      message: `${error.message}. ${error.advice}`.slice(0, MAX_MESSAGE_CHARS),
      ...(error.onePiece === true ? { onePiece: true } : {}),
    },
  };
}
