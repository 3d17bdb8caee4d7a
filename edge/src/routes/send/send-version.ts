/**
 * Answers a request for a file whose version is known, complete or on its way. Of pages, links to
 * certain hosts lead through the edge (`edgeLinks` of a rule): package managers read an index from one
 * host, and fetch from another what it links to.
 */

import { bringsFirstChunk } from '@millrace/shared/cdn/chunks/cache-outcome';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { parseCacheControl } from '@millrace/shared/http/answers/freshness';
import { contentCoding } from '@millrace/shared/http/answers/range-contract';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import type { Resolution } from '../../agent/origin-version.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import type { Pointer } from '../../files/file-version.ts';
import { ownBase } from '../own-address.ts';
import { LinkPrefixer } from './link-prefixer.ts';
import { type SendFileOptions, sendFile } from './send-file.ts';
import { type Poured, sendStream } from './send-stream.ts';

/** Types of pages with links that programs follow. */
const PAGE_TYPE = /^(?:text\/html|application\/(?:[\w.+-]+\+)?(?:json|html))\s*(?:;|$)/i;

/**
 * Sends a file.
 *
 * @returns resolves when the client's socket has taken every byte
 * @throws MillraceError; if the header has not been sent, nothing has
 */
export async function sendVersion(
  o: SendFileOptions,
  exchange: Exchange,
  resolution: Exclude<Resolution, { kind: 'tunnel' }>,
): Promise<void> {
  const { pointer, outcome } = resolution;
  const links = linksOf(o, exchange, pointer);
  if (resolution.kind === 'stream') {
    return sendStream(o, exchange, resolution.stream, pointer, outcome, links);
  }
  // Whether ranges of an encoded file are parts of the encoded bytes, no client can tell: it gets all.
  const isEncoded = contentCoding(pointer.version.fields) !== undefined;
  if (links === undefined && !isEncoded) return sendFile(o, exchange, pointer, outcome);
  // The first chunk has come with the version, as for any file.
  const first = Math.min(o.chunkBytes, pointer.version.length);
  if (bringsFirstChunk(outcome)) exchange.admission.fetched(first);
  const file = poured(pointer, exchange, o.chunkBytes);
  // A page that has changed is noticed before the header goes out.
  if (first > 0) {
    (await o.chunks.get(file.request(0), exchange.controller.signal)).chunk.release();
  }
  return sendStream(o, exchange, file, pointer, outcome, links);
}

/** Returns what changes the links of a page; undefined: the file goes to the client as it is. */
function linksOf(
  { policy, publicUrl }: SendFileOptions,
  { url, req }: Exchange,
  { version }: Pointer,
): LinkPrefixer | undefined {
  const hosts = url === undefined ? undefined : policy.rule(url).edgeLinks;
  // A client that knows the digest wants these bytes.
  if (hosts === undefined || version.digest !== undefined) return undefined;
  return contentCoding(version.fields) === undefined && mayChange(version.fields)
    ? new LinkPrefixer(hosts, ownBase(req, publicUrl))
    : undefined;
}

/** Returns true for a page that a proxy may change (RFC 9110 7.7). */
function mayChange(fields: Headers): boolean {
  if (parseCacheControl(listField(fields, 'cache-control')).has('no-transform')) return false;
  return PAGE_TYPE.test(listField(fields, 'content-type') ?? '');
}

/** Reads a complete file like a stream that has ended. */
function poured(
  { version, finalUrl }: Pointer,
  { grant, clientKey: client, span }: Exchange,
  chunkBytes: number,
): Poured {
  const directUrl = finalUrl === version.url ? undefined : finalUrl;
  const { length } = version;
  const requested = { version, directUrl, grant, client, trace: span?.onward };
  return {
    ...{ length, received: length, aloneBytes: 0, ended: true, error: undefined },
    request: (index) => ({ ...requested, range: chunkRange(index, chunkBytes, length) }),
    tail: () => undefined,
    changed: async () => {},
    follow: () => ({ at() {}, leave() {} }),
  };
}
