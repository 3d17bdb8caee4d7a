/** Links that a person opens in a browser, and the pages that answer them. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ENCRYPTED_DOCUMENT } from '@millrace/shared/http/urls/depot-link';
import type { Exchange } from '../../clients/exchanges.ts';
import type { RenderedPage } from '../../pages/layout.ts';

/**
 * Fields of a request that decide whether it gets a page. Browsers leave the second out where they
 * have no https (Fetch Metadata, 2).
 */
export const PAGE_VARY = 'accept, sec-fetch-dest';

/**
 * Returns true if a browser opens the target as a page of its own. Programs, scripts of pages, frames
 * and pictures get the bytes.
 */
export function isOpened({
  method,
  headers,
}: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (method !== 'GET' || headers.range !== undefined) return false;
  const place = headers['sec-fetch-dest'];
  return takesHtml(headers) && (place === undefined || place === 'document');
}

/** Returns true if HTML is named by the client: programs take anything, and name nothing. */
function takesHtml({ accept = '' }: IncomingHttpHeaders): boolean {
  return accept
    .split(',')
    .some((one) => /^\s*text\/html\s*(?:;(?!.*\bq=0(?:\.0*)?\s*$)|$)/i.test(one));
}

/** Returns true for the description of an encrypted file, by its name: it says nothing else. */
export function isEncryptedDocument(name: string | undefined): boolean {
  return name === ENCRYPTED_DOCUMENT;
}

/** Answers with a page. */
export function sendPage(exchange: Exchange, status: number, page: RenderedPage): void {
  const bytes = Buffer.from(page.body);
  exchange.sentBytes = bytes.length;
  exchange.res.writeHead(status, {
    ...page.headers,
    'content-length': String(bytes.length),
    vary: PAGE_VARY,
  });
  exchange.res.end(bytes);
}
