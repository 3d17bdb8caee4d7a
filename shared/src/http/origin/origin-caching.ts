/** Reads an origin's caching fields as a cache of its files must (RFC 9111). */

import { type Freshness, parseCacheControl } from '../answers/freshness.ts';
import { type Headers, listField } from '../fields/headers.ts';
import type { Finding } from './origin-findings.ts';

/** Asking for the version more often than this costs the origin more than it needs to. */
const BRIEF_MS = 60_000;

/** @param freshness of the same header */
export function judgeCaching(headers: Headers, freshness: Freshness): Finding[] {
  const { notStorable, lifetimeMs } = freshness;
  if (notStorable !== undefined) return [forbidden(notStorable)];
  const seconds = Math.round(lifetimeMs / 1000);
  const values = { seconds };
  if (!saysHowLong(headers)) return [{ id: 'fresh-guessed', grade: 'limited', values }];
  if (lifetimeMs === 0) return [{ id: 'fresh-never', grade: 'limited' }];
  if (lifetimeMs < BRIEF_MS) return [{ id: 'fresh-briefly', grade: 'limited', values }];
  return [{ id: 'fresh', grade: 'good', values }];
}

function forbidden(reason: string): Finding {
  if (reason.startsWith('vary-')) {
    return { id: 'vary', grade: 'bad', values: { field: reason.slice('vary-'.length) } };
  }
  const id = reason === 'private' || reason === 'set-cookie' ? reason : 'no-store';
  return { id, grade: 'bad' };
}

/** Whether the origin states a lifetime itself, be it none. */
function saysHowLong(headers: Headers): boolean {
  const directives = parseCacheControl(listField(headers, 'cache-control'));
  const stated = ['no-cache', 'max-age', 's-maxage'].some((name) => directives.has(name));
  return stated || listField(headers, 'expires') !== undefined;
}
