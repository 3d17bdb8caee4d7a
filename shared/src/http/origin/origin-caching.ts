/** Judges an origin's caching fields by the rules for caches (RFC 9111). */

import { type Freshness, parseCacheControl } from '../answers/freshness.ts';
import { type Headers, listField } from '../fields/headers.ts';
import type { Finding } from './origin-findings.ts';

/** Shortest good lifetime, in ms: with a shorter one edges revalidate needlessly often. */
const BRIEF_MS = 60_000;

/** Judges the caching fields of a header. @param freshness of the same header */
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

/** Returns true if the origin states a lifetime itself, even one of 0. */
function saysHowLong(headers: Headers): boolean {
  const directives = parseCacheControl(listField(headers, 'cache-control'));
  const stated = ['no-cache', 'max-age', 's-maxage'].some((name) => directives.has(name));
  return stated || listField(headers, 'expires') !== undefined;
}
