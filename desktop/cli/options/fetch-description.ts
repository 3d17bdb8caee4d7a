/** Reads descriptions of files that users name: metalinks and torrents, from files or URLs, and magnet links. */

import { isMagnetLink } from '@millrace/shared/download/request/document-name';
import { DESCRIPTION as DESCRIPTION_KIND } from '../../engine/stored/fetch-document.ts';
import { type NamedDocument, readNamedDocument } from './named-document.ts';

const DESCRIPTION: NamedDocument = {
  what: 'a metalink or torrent',
  ...DESCRIPTION_KIND,
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
