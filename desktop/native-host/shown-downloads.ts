/** Makes the extension's view of downloads, which holds less than that of the app's page. */

import {
  MAX_TO_BROWSER_BYTES,
  type NativeDownload,
} from '@millrace/shared/bridge/native/native-api';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';

const MAX_NAME_CHARS = 255;
const MAX_MESSAGE_CHARS = 500;
/** Room, bytes, for the rest of the message around the list. */
const ROOM_BYTES = 1024;

/** Statuses of the downloads that lists show; removed downloads are in no list. */
export const LISTED = ['active', 'queued', 'waiting', 'paused', 'complete', 'error'] as const;

/** Returns as many downloads as fit into one message. */
export function shownDownloads(views: readonly DownloadView[]): readonly NativeDownload[] {
  let room = MAX_TO_BROWSER_BYTES - ROOM_BYTES;
  const shown: NativeDownload[] = [];
  for (const view of views) {
    const download = shownDownload(view);
    if (download === undefined) continue;
    room -= Buffer.byteLength(JSON.stringify(download)) + 1;
    if (room < 0) break;
    shown.push(download);
  }
  return shown;
}

function shownDownload(view: DownloadView): NativeDownload | undefined {
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
    },
  };
}
