/** Reads exNodes that users name, and keeps them in requests. */

import { createHash } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest, KeptExnode } from '@millrace/shared/download/request/request';
import {
  EXNODE_TYPE,
  type Exnode,
  MAX_EXNODE_BYTES,
  type ReadableExnode,
} from '@millrace/shared/exnode/exnode';
import { formatExnode, parseExnode } from '@millrace/shared/exnode/exnode-text';
import { placesOf, privateHost } from '@millrace/shared/exnode/places';
import { heldToLink, splitLink } from '@millrace/shared/exnode/seal';
import { documentLinkOf } from '@millrace/shared/http/urls/depot-link';
import { isPublicHost } from '@millrace/shared/http/urls/public-host';
import { openExnode } from '../seal/sealed-head.ts';
import { type DocumentKind, fetchDocument } from './fetch-document.ts';

export const EXNODE_DOCUMENT: DocumentKind = {
  accept: `${EXNODE_TYPE}, application/json, */*;q=0.5`,
  maxBytes: MAX_EXNODE_BYTES,
};

/** Reads the text of an exNode. @throws MillraceError `bad-exnode` */
export function readExnodeText(text: string): Exnode {
  return parseExnode(text, (bytes) => createHash('sha256').update(bytes).digest('hex'));
}

/**
 * Fetches an exNode.
 *
 * @param given its URL or that of the file that it describes, perhaps with its key or its root
 * @returns the exNode, with the key of the URL if there is one
 * @throws MillraceError `bad-exnode`, also if the URL was made for another file; `wrong-key`;
 *   `source-refused` if it comes from outside the user's own network and names hosts inside it; as
 *   `fetchDocument`
 */
export async function fetchExnode(
  given: string,
  signal: AbortSignal,
  proxy?: string,
): Promise<Exnode> {
  const { link, proof } = splitLink(given);
  // A link to the file itself is taken apart, so that all depots are asked and not only its edge.
  const document = documentLinkOf(link) ?? link;
  const body = await fetchDocument(EXNODE_DOCUMENT, document, signal, proxy);
  const exnode = heldToLink(readExnodeText(body.toString()), proof);
  const isFromOutside = URL.canParse(link) && isPublicHost(new URL(link).hostname);
  const host = isFromOutside ? privateHost(exnode) : undefined;
  if (host === undefined) return exnode;
  throw new MillraceError(
    'source-refused',
    `the exNode names ${host}, which is in your own network`,
  );
}

/**
 * Returns the addresses of the places of an exNode, best first.
 *
 * @throws MillraceError `rest-missing` if all its leases have ended
 */
export function placeUrls(exnode: Exnode): string[] {
  const urls = [...new Set(placesOf(exnode, Date.now()).map(({ origin }) => `${origin}/`))];
  if (urls.length > 0) return urls;
  if (exnode.size > 0) throw new MillraceError('rest-missing', 'all its leases have ended');
  return ['http://exnode.invalid/'];
}

/**
 * Checks that a request has nothing that is for one server only.
 *
 * @param mirrors number of its URLs beyond the first
 * @throws MillraceError `bad-option`
 */
export function checkForExnode(
  asked: Partial<Pick<DownloadRequest, 'direct' | 'login' | 'cookieFile' | 'netrc' | 'headers'>>,
  mirrors: number,
): void {
  const { login, cookieFile, netrc = false, headers = {}, direct = true } = asked;
  if (!direct || mirrors > 0) {
    throw new MillraceError('bad-option', { code: 'exnode-names-sources' });
  }
  const others = Object.keys(headers).filter((name) => name.toLowerCase() !== 'user-agent');
  if (login === undefined && cookieFile === undefined && !netrc && others.length === 0) return;
  const why = 'header fields, cookies and log-ins are for one server, and an exNode names several';
  throw new MillraceError('bad-option', why);
}

/** Returns an exNode as requests keep it, without the rights to change what is stored. */
export function keptExnode(exnode: Exnode): KeptExnode {
  const { root, key } = exnode;
  return { root, text: formatExnode(exnode, true), ...(key === undefined ? {} : { key }) };
}

/**
 * Opens the exNode of a request.
 *
 * @throws MillraceError `bad-exnode`, `wrong-key`
 */
export function openKept({ root, text, key }: KeptExnode): ReadableExnode {
  const exnode = readExnodeText(text);
  if (exnode.root !== root) throw new MillraceError('bad-exnode', 'it describes another file');
  return openExnode({ ...exnode, key });
}
