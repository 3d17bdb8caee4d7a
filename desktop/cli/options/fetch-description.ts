/** Reads descriptions of files that users name: metalinks and torrents, from files or URLs, and magnet links. */

import { isMagnetLink } from '@millrace/shared/download/request/document-name';
import { type NamedDocument, readNamedDocument } from './named-document.ts';

const DESCRIPTION: NamedDocument = {
  what: 'a metalink or torrent',
  accept:
    'application/metalink4+xml, application/metalink+xml, application/x-bittorrent, */*;q=0.5',
  maxBytes: 8 * 1024 * 1024,
};

/** Reads a description; a magnet link is one by itself. @throws as `readNamedDocument` */
export async function readDescription(
  given: string,
  cwd: string,
  signal: AbortSignal,
): Promise<Buffer> {
  if (isMagnetLink(given)) return Buffer.from(given);
  return readNamedDocument(DESCRIPTION, given, cwd, signal);
}
