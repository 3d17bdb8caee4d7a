/** Fetches documents that describe downloads, as downloads themselves are fetched. */

import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { Connections } from '../sources/connections.ts';
import { readSmallFile } from '../sources/small-file.ts';

/** A kind of document. */
export interface DocumentKind {
  /** Accept field of the request for it. */
  readonly accept: string;
  readonly maxBytes: number;
}

/** Metalinks and torrents: in base64 the daemon still accepts a message of this size. */
export const DESCRIPTION: DocumentKind = {
  accept:
    'application/metalink4+xml, application/metalink+xml, application/x-bittorrent, */*;q=0.5',
  maxBytes: 8 * 1024 * 1024,
};

const TIMEOUT_MS = 30_000;

/**
 * Fetches a document through the proxy, and without redirects into the user's own network.
 *
 * @param proxy as in a request
 * @param listed true if a stranger has named the URL: it may not lead into the user's own network
 * @throws MillraceError `origin-...`, `wrong-length` if the document is too large; `interrupted`
 */
export async function fetchDocument(
  { accept, maxBytes }: DocumentKind,
  url: string,
  signal: AbortSignal,
  proxy?: string,
  listed = false,
): Promise<Buffer> {
  const asked = {
    ...{ ...REQUEST_DEFAULTS, urls: [url], dir: '', headers: { accept }, proxy },
    listed: listed ? [url] : [],
  };
  const connections = await Connections.open(asked);
  try {
    const source = connections.source('origin', connections.urls[0] as string, Math.random);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    return (await readSmallFile(source, maxBytes, limited)).body;
  } catch (cause) {
    if (signal.aborted) throw new MillraceError('interrupted');
    if (isMillraceError(cause)) throw cause;
    const timedOut = cause instanceof Error && cause.name === 'TimeoutError';
    throw new MillraceError(timedOut ? 'origin-timeout' : 'origin-unreachable', '', { cause });
  } finally {
    await connections.close();
  }
}
