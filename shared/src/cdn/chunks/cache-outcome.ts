/** Sums up, for Cache-Status (RFC 9211), where the chunks of a response came from. */

import type { CacheOutcome } from '../../http/fields/cache-status.ts';

/** Detail of a hit for whose sake the origin is asked meanwhile. */
export const REVALIDATING = 'revalidating';

/** Where a chunk was found: `peer` is another node, `source` the origin. */
export type Tier = 'memory' | 'disk' | 'peer' | 'source';

/**
 * Adds the first chunk to the outcome. The field describes the response as a whole: it is a hit
 * only if its first chunk was one too.
 *
 * @param outcome of the search for the file's version
 * @param first where the first chunk was, and whether another request had begun to fetch it
 */
export function withFirstChunk(
  outcome: CacheOutcome,
  first: { readonly tier: Tier; readonly joined: boolean },
): CacheOutcome {
  if (first.tier === 'memory' || first.tier === 'disk') return outcome;
  if (first.tier === 'peer') return { hit: false, fwd: 'miss', detail: 'peer' };
  if (!outcome.hit) return { ...outcome, stored: true };
  return { hit: false, fwd: 'miss', stored: true, ...(first.joined ? { collapsed: true } : {}) };
}

/** Returns true if the first chunk was fetched to learn the current version. */
export function bringsFirstChunk(outcome: CacheOutcome): boolean {
  // The answer comes later, and may bring a chunk: the client that caused it is charged.
  if (outcome.hit) return outcome.detail === REVALIDATING;
  if (outcome.collapsed === true) return false;
  return outcome.stored === true || (outcome.detail === 'peer' && outcome.fwd === 'uri-miss');
}
