/** The files that the user has sent, as the page keeps them. Pure. */

import type { LiveUpdate } from '@millrace/shared/bridge/rpc/live-api';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';

export const HOUR_S = 3600;
export const DAY_S = 24 * HOUR_S;
/** Times to store a file that the page offers, in seconds. */
export const TERMS = [
  ['day', DAY_S],
  ['week', 7 * DAY_S],
  ['month', 30 * DAY_S],
  ['quarter', 90 * DAY_S],
] as const;
export type Term = (typeof TERMS)[number][0];

/** Returns the seconds of a term. */
export function secondsOf(term: Term): number {
  return TERMS.find(([name]) => name === term)?.[1] ?? DAY_S;
}

/** Applies an update; new files come first. */
export function withShares(
  shares: readonly ShareView[],
  { shares: changed = [], goneShares = [] }: LiveUpdate,
): readonly ShareView[] {
  if (changed.length === 0 && goneShares.length === 0) return shares;
  const byId = new Map(changed.map((share) => [share.id, share]));
  const gone = new Set(goneShares);
  const known = shares
    .filter(({ id }) => !gone.has(id))
    .map((share) => byId.get(share.id) ?? share);
  const ids = new Set(shares.map(({ id }) => id));
  const added = changed.filter(({ id }) => !ids.has(id));
  return [...added.sort((a, b) => b.createdAt - a.createdAt), ...known];
}

/** Returns the number of files that can be downloaded, or are on their way. */
export function liveCount(shares: readonly ShareView[]): number {
  return shares.filter(({ state }) => state !== 'revoked' && state !== 'expired').length;
}

/** Returns the sent part, 0 to 1. */
export function sentPart({ sentBytes, totalBytes }: ShareView): number {
  return totalBytes === 0 ? 0 : Math.min(1, sentBytes / totalBytes);
}

/** Returns true for files that downloads can be made of, and which are not for sending. */
export function isDescription(name: string): boolean {
  return /\.(meta4|metalink|exnode|txt|list|urls?)$/i.test(name);
}
