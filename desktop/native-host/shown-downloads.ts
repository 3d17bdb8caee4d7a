/** Chooses the downloads of the extension's list that fit into one message. */

import {
  MAX_TO_BROWSER_BYTES,
  type NativeDownload,
} from '@millrace/shared/bridge/native/native-api';
import { shownDownload } from '@millrace/shared/bridge/native/shown-download';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';

/** Room, bytes, for the rest of the message around the list. */
const ROOM_BYTES = 1024;

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
