/** Reads exNodes that users name, and makes the request for the file that one describes. */

import { createHash } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { type Exnode, MAX_EXNODE_BYTES } from '@millrace/shared/exnode/exnode';
import { parseExnode } from '@millrace/shared/exnode/exnode-text';
import { placesOf, privateHost } from '@millrace/shared/exnode/places';
import { heldToLink, splitLink } from '@millrace/shared/exnode/seal';
import { isPublicHost } from '@millrace/shared/http/urls/public-host';
import { type NamedDocument, readNamedDocument } from './named-document.ts';

const DOCUMENT: NamedDocument = {
  what: 'an exNode',
  accept: 'application/vnd.millrace.exnode+json, application/json, */*;q=0.5',
  maxBytes: MAX_EXNODE_BYTES,
};

/**
 * Reads an exNode.
 *
 * @param given URL, or path relative to `cwd`
 * @returns the exNode, with the key of the URL if there is one
 * @throws MillraceError `bad-exnode`, also if the URL was made for another file; `wrong-key`;
 *   `source-refused` if it comes from outside the user's own network and names hosts inside it; as
 *   `readNamedDocument`
 */
export async function readExnode(given: string, cwd: string, signal: AbortSignal): Promise<Exnode> {
  const isLink = /^https?:\/\//i.test(given);
  const { link, proof } = isLink ? splitLink(given) : { link: given, proof: {} };
  const body = await readNamedDocument(DOCUMENT, link, cwd, signal);
  const read = parseExnode(body.toString(), (bytes) =>
    createHash('sha256').update(bytes).digest('hex'),
  );
  const exnode = heldToLink(read, proof);
  const isFromOutside = URL.canParse(link) && isPublicHost(new URL(link).hostname);
  const host = isFromOutside ? privateHost(exnode) : undefined;
  if (host === undefined) return exnode;
  throw new MillraceError(
    'source-refused',
    `the exNode names ${host}, which is in your own network`,
  );
}

/**
 * Makes the request for the file of an exNode.
 *
 * @param asked the user's options
 * @throws MillraceError `rest-missing` if all its leases have ended; `bad-option`
 */
export function exnodeRequest(exnode: Exnode, asked: DownloadRequest): DownloadRequest {
  const [, ...mirrors] = asked.urls;
  if (!asked.direct || mirrors.length > 0) {
    throw new MillraceError('bad-option', 'an exNode names its sources: no other one is asked');
  }
  const { login, cookieFile, netrc = false, headers } = asked;
  const others = Object.keys(headers).filter((name) => name !== 'user-agent');
  if (login !== undefined || cookieFile !== undefined || netrc || others.length > 0) {
    const why =
      'header fields, cookies and log-ins are for one server, and an exNode names several';
    throw new MillraceError('bad-option', why);
  }
  const urls = [...new Set(placesOf(exnode, Date.now()).map(({ origin }) => `${origin}/`))];
  if (urls.length === 0 && exnode.size > 0) {
    throw new MillraceError('rest-missing', 'all its leases have ended');
  }
  const [first = 'http://exnode.invalid/', ...more] = urls;
  return { ...asked, urls: [first, ...more], listed: urls, edges: [], length: exnode.size };
}
