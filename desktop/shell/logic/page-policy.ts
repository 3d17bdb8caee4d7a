/** Decides which pages the window may show, and what they may load and request. */

import { EXTENSION_PAGE, INSTALL_PAGE } from '@millrace/shared/base/web-pages';
import { MINI_PATH } from '@millrace/shared/bridge/page/mini-path';

/** Policy of the shell's own pages, and of answers that come without one. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

/**
 * Returns true for addresses that the window may show: the daemon's page, and the shell's own
 * files.
 *
 * @param daemon origin of the daemon such as `http://127.0.0.1:6800`, or of one elsewhere such as
 *   `https://nas.example`; undefined: none runs
 * @param own `file:` URL of the folder with the shell's own pages, with a slash at its end
 */
export function isOwnPage(address: string, daemon: string | undefined, own: string): boolean {
  const url = parsed(address);
  if (url === undefined) return false;
  if (url.protocol === 'file:') return url.href.startsWith(own);
  return daemon !== undefined && url.origin === daemon;
}

/** Returns true for the daemon's mini page, which has a window of its own. */
export function isMiniPage(address: string, daemon: string | undefined): boolean {
  const url = parsed(address);
  return daemon !== undefined && url?.origin === daemon && url.pathname === MINI_PATH;
}

/** Returns true for addresses that a page may load: its own policy might be missing. */
export function mayLoad(address: string, daemon: string | undefined, own: string): boolean {
  const url = parsed(address);
  if (url === undefined) return false;
  if (url.protocol === 'data:' || url.protocol === 'devtools:') return true;
  if (url.protocol === 'ws:') return daemon === `http://${url.host}`;
  if (url.protocol === 'wss:') return daemon === `https://${url.host}`;
  return isOwnPage(address, daemon, own);
}

/** Returns true for senders that may call the shell: only the daemon's page. */
export function mayCall(address: string, daemon: string | undefined): boolean {
  return daemon !== undefined && parsed(address)?.origin === daemon;
}

/**
 * Returns true for data of the page itself, which may be saved where the user says. Files come
 * through the daemon.
 */
export function maySave(url: string, origin: string | undefined): boolean {
  return origin !== undefined && url.startsWith(`blob:${origin}/`);
}

/** Returns true for pages that open in the user's browser: those of the project, and no others. */
export function mayOpenOutside(url: string): boolean {
  return url === EXTENSION_PAGE || url === INSTALL_PAGE;
}

/** Returns true for an address that a browser opens, and no other program of the system. */
export function isWebPage(address: string): boolean {
  return /^https?:$/.test(parsed(address)?.protocol ?? '');
}

function parsed(address: string): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}
