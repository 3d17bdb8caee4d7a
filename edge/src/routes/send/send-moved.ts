/**
 * Sends clients on to pages whose links have another base since the origin's redirects, so that
 * clients resolve the links as they would without an edge. Files stay under the URL that was asked
 * for, whatever their redirects.
 */

import { isMillraceError } from '@millrace/shared/base/errors';
import { crossOriginFields } from '@millrace/shared/http/answers/cross-origin';
import { isMovedPage } from '@millrace/shared/http/answers/moved-page';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import type { Headers } from '@millrace/shared/http/fields/headers';
import { viaItem } from '@millrace/shared/http/fields/via';
import type { Exchange } from '../../clients/exchanges.ts';
import type { LocalAccess } from '../../policy/local-access.ts';
import type { OriginPolicy } from '../../policy/policy.ts';
import { allowPages } from './other-sites.ts';
import { writeTarget } from './read-target.ts';

export interface SendMovedOptions {
  /** Name of this edge. */
  readonly name: string;
  readonly policy: OriginPolicy;
  /** Set if the edge runs for one user. */
  readonly localAccess?: LocalAccess | undefined;
}

/**
 * Answers with a redirect to a page that has moved.
 *
 * @param found URL that redirects have led to, and header of the answer there
 * @returns false if nothing was sent: the answer is no such page, or its URL is served only by way
 *   of the redirect
 */
export function sendMoved(
  o: SendMovedOptions,
  exchange: Exchange,
  found: { readonly url: URL; readonly headers: Headers; readonly outcome: CacheOutcome },
): boolean {
  const { name, policy } = o;
  const { url, headers, outcome } = found;
  if (exchange.url === undefined || !isMovedPage(exchange.url, url, headers)) return false;
  const location = targetOf(url, exchange, policy);
  if (location === undefined) return false;
  exchange.res.writeHead(307, {
    // Without a host: the edge has many names, and the client knows the one that works for it.
    location,
    ...allowPages(o, exchange, crossOriginFields(headers)),
    'content-length': '0',
    // The origin may change its redirect at any time.
    'cache-control': 'no-store',
    via: viaItem(name),
    'cache-status': formatCacheStatus(name, outcome),
  });
  exchange.res.end();
  return true;
}

/** Returns the target by which the client may ask for a URL; undefined: none. */
export function targetOf(
  url: URL,
  { grant, scope = 'public' }: Exchange,
  policy: OriginPolicy,
): string | undefined {
  if (grant?.covers(url) === true) return writeTarget(url, grant.permit);
  try {
    policy.check(url, scope);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return undefined;
  }
  return writeTarget(url, undefined);
}
