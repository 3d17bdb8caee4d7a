/**
 * Answers for pages of other sites, which browsers judge by fields of the answer: such a page may do
 * with a file what its origin or a rule lets it do, and at the edge of one user nothing.
 */

import type { ServerResponse } from 'node:http';
import { applyCors, type CorsRule, corsPreflight } from '@millrace/shared/http/answers/cors-rule';
import {
  asksForFile,
  preflightFields,
  withoutCrossOrigin,
} from '@millrace/shared/http/answers/cross-origin';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import type { Headers } from '@millrace/shared/http/fields/headers';
import { viaItem } from '@millrace/shared/http/fields/via';
import type { Exchange } from '../../clients/exchanges.ts';
import type { LocalAccess } from '../../policy/local-access.ts';
import type { OriginPolicy } from '../../policy/policy.ts';

/** Returns the header of an answer, without allowances of the origin if the edge is of one user. */
export function forPages(
  { localAccess }: { readonly localAccess?: LocalAccess | undefined },
  headers: Record<string, string>,
): Record<string, string> {
  return localAccess === undefined ? headers : withoutCrossOrigin(headers);
}

/**
 * Returns the fields by which pages may read an error or a redirect.
 *
 * @param ofOrigin those of the origin, which hold where no rule does
 */
export function allowPages(
  o: { readonly localAccess?: LocalAccess | undefined; readonly policy: OriginPolicy },
  { req, url }: Exchange,
  ofOrigin: Record<string, string> = {},
): Record<string, string> {
  const cors = url === undefined ? undefined : o.policy.rule(url).cors;
  const fields = { ...ofOrigin };
  if (cors !== undefined) applyCors(cors, req.headers.origin, fields);
  return forPages(o, fields);
}

/** Answers a preflight by the rule for the origin, which is not asked. */
export function sendRuledPreflight(
  { name }: { readonly name: string },
  { req, res }: Exchange,
  cors: CorsRule,
): void {
  const fields = asksForFile(req.headers) ? corsPreflight(cors, req.headers.origin) : {};
  endPreflight(name, res, fields, { hit: false, fwd: 'bypass', detail: 'rule' });
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
  endPreflight(name, res, preflightFields(fields), outcome);
}

function endPreflight(
  name: string,
  res: ServerResponse,
  fields: Record<string, string>,
  outcome: CacheOutcome,
): void {
  res.writeHead(204, {
    ...fields,
    allow: 'GET, HEAD',
    via: viaItem(name),
    'cache-status': formatCacheStatus(name, outcome),
  });
  res.end();
}
