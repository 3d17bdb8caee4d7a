/** The files that the user has sent, as the page keeps them. Pure. */

import type { LiveUpdate } from '@millrace/shared/bridge/rpc/live-api';
import type { DepotCheck, ShareView } from '@millrace/shared/bridge/rpc/share-api';

export const HOUR_S = 3600;
export const DAY_S = 24 * HOUR_S;
/** Times to store a file that the page offers, in seconds. */
const TERMS = [
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

/** Most copies that the page offers. */
export const MAX_COPIES = 3;

/** Returns the terms that all of the depots allow, the shortest at least. */
export function termsFor(checks: readonly DepotCheck[]): readonly Term[] {
  // Limits of a depot that has not answered are not known.
  const most = Math.min(...checks.map(({ maxSeconds = Number.POSITIVE_INFINITY }) => maxSeconds));
  const allowed = TERMS.filter(([, seconds], i) => i === 0 || seconds <= most);
  return allowed.map(([term]) => term);
}

/** Returns the term to use: the wanted one, or the longest that is allowed. */
export function allowedTerm(wanted: Term, allowed: readonly Term[]): Term {
  return allowed.includes(wanted) ? wanted : (allowed[allowed.length - 1] ?? wanted);
}

/** Returns true if a depot has said that it does not take files of these sizes, in bytes. */
export function isTooSmall(
  { bytesLeft = Number.POSITIVE_INFINITY, eachBytes = Number.POSITIVE_INFINITY }: DepotCheck,
  sizes: readonly number[],
): boolean {
  return sizes.reduce((sum, size) => sum + size, 0) > bytesLeft || Math.max(...sizes) > eachBytes;
}

/**
 * Chooses the depots that store the copies: in the user's order, those first that have answered and
 * have room.
 */
export function depotsFor(
  chosen: readonly string[],
  checks: ReadonlyMap<string, DepotCheck>,
  { copies, sizes }: { readonly copies: number; readonly sizes: readonly number[] },
): readonly string[] {
  const isBad = (url: string) => {
    const check = checks.get(url);
    return check !== undefined && (!check.ok || isTooSmall(check, sizes));
  };
  const ranked = [...chosen].sort((a, b) => Number(isBad(a)) - Number(isBad(b)));
  return ranked.slice(0, copies);
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
  return /\.(meta4|metalink|torrent|exnode|txt|list|urls?|webloc)$/i.test(name);
}

const MIB = 1024 ** 2;
/** Sizes of files that guests may send, in bytes. */
const GUEST_SIZES = [100 * MIB, 1024 * MIB, 10 * 1024 * MIB, 100 * 1024 * MIB];

/**
 * Lists the sizes that a depot has room for.
 *
 * @param check undefined: it has not answered yet, and may have room for all
 */
export function guestSizes(check: DepotCheck | undefined): readonly number[] {
  if (check === undefined) return GUEST_SIZES;
  const { bytesLeft = Infinity, eachBytes = Infinity } = check;
  const most = Math.min(bytesLeft, eachBytes);
  const sizes = GUEST_SIZES.filter((size) => size <= most);
  return sizes.length === 0 && most >= MIB ? [Math.floor(most / MIB) * MIB] : sizes;
}
