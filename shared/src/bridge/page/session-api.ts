/**
 * How a page logs in to the daemon. The page is served at the daemon's own address, `/`; calls go
 * to `/jsonrpc` there, over HTTP or WebSocket, with the session's cookie in place of the token.
 */

import { isDownloadUrl } from './download-url.ts';

/**
 * `POST` with JSON `SessionRequest`: 204 and the cookie, or 401, or 429 with Retry-After (seconds)
 * after wrong guesses. `GET`: 204 while the session is valid, else 401. `DELETE`: 204, logged out,
 * and the session's WebSockets are closed with code 4401.
 */
export const SESSION_PATH = '/session';
export const RPC_PATH = '/jsonrpc';
/** Path of XML-RPC, which some programs written for aria2 speak. */
export const XML_RPC_PATH = '/rpc';

/**
 * The daemon's token, or a code of `millrace.loginLink`, which is valid for a minute and for the
 * first page that sends it. `page` is a random text of 16 to 64 characters that only this page
 * knows: with it, the page may send its code again when the answer was lost on the way.
 */
export type SessionRequest =
  | { readonly token: string }
  | { readonly code: string; readonly page?: string };

/** WebSocket close code: the session has ended; log in again. */
export const SESSION_ENDED = 4401;

/** Most links that a log-in link offers to the page. */
export const MAX_OFFERED_URLS = 50;

const FRAGMENT = /^#?code=([A-Za-z0-9_-]{16,64})(?:&add=|$)/;

/** Returns the code in the fragment of a log-in link (`#code=...`); undefined if there is none. */
export function codeInFragment(fragment: string): string | undefined {
  return FRAGMENT.exec(fragment)?.[1];
}

/**
 * Adds links to a log-in link (`#code=...&add=URL&add=URL`). The page offers them for download once
 * it is logged in.
 *
 * @param urls http(s) URLs, at most `MAX_OFFERED_URLS`
 */
export function withOffered(link: string, urls: readonly string[]): string {
  return [link, ...urls.map((url) => `add=${encodeURIComponent(url)}`)].join('&');
}

/** Returns the links that a log-in link offers: http(s) URLs, at most `MAX_OFFERED_URLS`. */
export function offeredInFragment(fragment: string): readonly string[] {
  if (!FRAGMENT.test(fragment)) return [];
  const urls = new URLSearchParams(fragment.replace(/^#/, '')).getAll('add');
  return urls.filter(isDownloadUrl).slice(0, MAX_OFFERED_URLS);
}
