/** Addresses of the daemon's pages. */

import { MINI_PATH } from '@millrace/shared/bridge/page/mini-path';

/**
 * Returns the address for a load of a page. A restarted daemon has the same address: navigation to it,
 * with only the log-in code behind the `#` changed, would be a step within the old page and load
 * nothing.
 *
 * @param load number of this load, another one each time
 */
export function pageUrl(address: string, load: number): string {
  const url = new URL(address);
  url.searchParams.set('start', String(load));
  return url.href;
}

/** Returns the address of the mini page, from a log-in link for the page. */
export function miniAddress(address: string): string {
  const url = new URL(address);
  url.pathname = MINI_PATH;
  return url.href;
}
