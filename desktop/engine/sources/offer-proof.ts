/** Shows that the app can take over a browser's download, by fetching its first bytes. */

import { MillraceError } from '@millrace/shared/base/errors';
import { checkOffered, type OfferedFile } from '@millrace/shared/download/request/offered-file';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { Connections } from './connections.ts';
import { FIRST_BYTES } from './opening.ts';
import type { Opened } from './source-answer.ts';

/**
 * Asks the origin for the beginning of the file and reads it; keeps nothing.
 *
 * Refuses an origin that sends only the whole file, though the file may be right: the browser
 * already downloads it as well as the app could.
 *
 * @param request in the form of the later download
 * @throws MillraceError; the signal's reason
 */
export async function proveOffer(
  request: DownloadRequest,
  offered: OfferedFile,
  signal: AbortSignal,
): Promise<void> {
  const connections = await Connections.open(request);
  try {
    const url = connections.urls[0] as string;
    const source = connections.source('origin', url, Math.random);
    const opened = await source.openRange({ start: 0, end: FIRST_BYTES }, undefined, signal);
    try {
      check(opened, offered);
    } catch (error) {
      opened.discard();
      throw error;
    }
    await opened.read(() => undefined);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await connections.close();
  }
}

function check(opened: Opened, offered: OfferedFile): void {
  checkOffered(offered, opened.kind === 'range' ? opened.version : opened);
  if (opened.kind === 'whole') throw new MillraceError('range-ignored');
}
