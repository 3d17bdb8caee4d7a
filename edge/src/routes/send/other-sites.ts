/**
 * Answers for pages of other sites, which browsers judge by fields of the answer: such a page may do
 * with a file what its origin lets everybody do, and at the edge of one user nothing.
 */

import { preflightFields, withoutCrossOrigin } from '@millrace/shared/http/answers/cross-origin';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import type { Headers } from '@millrace/shared/http/fields/headers';
import { viaItem } from '@millrace/shared/http/fields/via';
import type { Exchange } from '../../clients/exchanges.ts';
import type { LocalAccess } from '../../policy/local-access.ts';

/** Returns the header of an answer, without allowances of the origin if the edge is of one user. */
export function forPages(
  { localAccess }: { readonly localAccess?: LocalAccess | undefined },
  headers: Record<string, string>,
): Record<string, string> {
  return localAccess === undefined ? headers : withoutCrossOrigin(headers);
}

/**
 * Answers a preflight. Without an allowance of the origin, the browser sends no request.
 *
 * @param fields of the origin's answer with the file
 */
export function sendPreflight(
  { name }: { readonly name: string },
  { res }: Exchange,
  fields: Headers,
  outcome: CacheOutcome,
): void {
  res.writeHead(204, {
    ...preflightFields(fields),
    allow: 'GET, HEAD',
    via: viaItem(name),
    'cache-status': formatCacheStatus(name, outcome),
  });
  res.end();
}
