/** Reads exNodes that users name, and makes the request for the file that one describes. */

import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { Exnode, ReadableExnode } from '@millrace/shared/exnode/exnode';
import { openExnode } from '../../engine/seal/sealed-head.ts';
import {
  checkForExnode,
  EXNODE_DOCUMENT,
  fetchExnode,
  keptExnode,
  placeUrls,
  readExnodeText,
} from '../../engine/stored/read-exnode.ts';
import { isLink, readDocumentFile } from './named-document.ts';

const DOCUMENT = { what: 'an exNode', ...EXNODE_DOCUMENT };

/**
 * Reads an exNode.
 *
 * @param given URL, or path relative to `cwd`
 * @returns the exNode, with the key of the URL if there is one
 * @throws MillraceError as `fetchExnode`; `bad-option` for a file that cannot be read
 */
export async function readExnode(given: string, cwd: string, signal: AbortSignal): Promise<Exnode> {
  if (isLink(given)) return fetchExnode(given, signal);
  return readExnodeText((await readExnodeFile(given, cwd)).toString());
}

/** Reads the file of an exNode. @throws MillraceError `bad-option` */
export function readExnodeFile(path: string, cwd: string): Promise<Buffer> {
  return readDocumentFile(DOCUMENT, path, cwd);
}

/**
 * Makes the request for the file of an exNode.
 *
 * @param given as for `readExnode`
 * @param asked the user's options
 * @throws MillraceError `rest-missing` if all its leases have ended; `bad-option`, `wrong-key`; as
 *   `readExnode`
 */
export async function exnodeRequest(
  given: string,
  asked: DownloadRequest,
  cwd: string,
  signal: AbortSignal,
): Promise<{ readonly request: DownloadRequest; readonly exnode: ReadableExnode }> {
  const read = await readExnode(given, cwd, signal);
  const exnode = openExnode(read);
  checkForExnode(asked, asked.urls.length - 1);
  const urls = placeUrls(exnode);
  const own = { urls, listed: urls, edges: [], length: exnode.size, exnode: keptExnode(read) };
  return { request: { ...asked, ...own }, exnode };
}
