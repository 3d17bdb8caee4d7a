/** States of files that a user has sent, and what each of them allows. Pure. */

import type { Millis } from '../base/clock.ts';

/** The state that is kept. What the clock decides is not in it. */
export type KeptState = 'waiting' | 'sending' | 'paused' | 'failed' | 'shared' | 'revoked';
export type ShownState = KeptState | 'expired' | 'revoking' | 'revoke-failed';

export interface Share {
  readonly id: string;
  readonly state: KeptState;
  /** When it is revoked, Unix milliseconds, unless that is undone before. */
  readonly revokeAt?: Millis | undefined;
  /** Number of times that depots have failed to delete it, since it was revoked. */
  readonly revokeTries?: number | undefined;
  /** First end of a lease. */
  readonly expires?: Millis | undefined;
  readonly createdAt: Millis;
  /** Of space that a guest may fill; undefined: it is a file. */
  readonly invitation?: object | undefined;
}

/** Change of a stored file that depots are being asked for. */
export type Change = 'extending' | 'repairing' | 'revoking';

/** A file as it is shown, or an invitation. */
export interface ShownShare {
  readonly state: ShownState;
  readonly changing?: Change | undefined;
  readonly invitation?: boolean | undefined;
}

export type ShareAction =
  | 'pause'
  | 'resume'
  | 'check'
  | 'repair'
  /** Ends a repair that runs; what it has stored counts. */
  | 'stop'
  | 'extend'
  | 'revoke'
  | 'undo'
  | 'forget';

/** Time for which a revocation can be undone. */
export const UNDO_REVOKE_MS: Millis = 10_000;

/** Pauses before a failed revocation is tried again; the last one counts for all further ones. */
const REVOKE_PAUSES_MS: readonly Millis[] = [
  60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 86_400_000,
];
/** Most times that a revocation is tried: then leases, which no depot extends by itself, are over. */
export const MAX_REVOKE_TRIES = 100;

const ALLOWED: Readonly<Record<ShownState, readonly ShareAction[]>> = {
  waiting: ['pause', 'revoke'],
  sending: ['pause', 'revoke'],
  paused: ['resume', 'revoke'],
  failed: ['resume', 'revoke', 'forget'],
  // Its only list of capabilities is not to be lost while there is something to manage.
  shared: ['check', 'repair', 'extend', 'revoke'],
  // Only its first lease is over: other depots may have it still.
  expired: ['check', 'repair', 'revoke', 'forget'],
  revoking: ['undo'],
  'revoke-failed': ['revoke'],
  revoked: ['forget'],
};

/** Returns the state to show. @param now Unix milliseconds */
export function shownState(
  { state, revokeAt, revokeTries = 0, expires }: Share,
  now: Millis,
): ShownState {
  const isOver = state === 'shared' && expires !== undefined && expires <= now;
  if (revokeAt !== undefined && revokeTries === 0) return 'revoking';
  if (isOver) return 'expired';
  return revokeAt === undefined ? state : 'revoke-failed';
}

/** Changes of a file by a revocation that has failed: it is tried again, later and later. */
export function afterFailedRevocation(
  { revokeTries = 0 }: Share,
  now: Millis,
): Pick<Share, 'revokeAt' | 'revokeTries'> {
  const pause = REVOKE_PAUSES_MS[Math.min(revokeTries, REVOKE_PAUSES_MS.length - 1)] as Millis;
  const isLast = revokeTries + 1 >= MAX_REVOKE_TRIES;
  return isLast ? NOT_REVOKED : { revokeAt: now + pause, revokeTries: revokeTries + 1 };
}

/** Members of a file that is not about to be revoked. */
export const NOT_REVOKED = { revokeAt: undefined, revokeTries: undefined } as const;

/** Actions that invitations do not take. */
const OF_FILES: ReadonlySet<ShareAction> = new Set<ShareAction>(['check', 'repair', 'stop']);

/** Actions that end a repair: it can take hours, and nobody is to wait for it. */
const END_REPAIR: ReadonlySet<ShareAction> = new Set<ShareAction>(['stop', 'revoke']);

/** Returns true if a file, or an invitation, may be treated so, as it is shown. */
export function allowsShown(
  { state, changing, invitation }: ShownShare,
  action: ShareAction,
): boolean {
  if (invitation === true && OF_FILES.has(action)) return false;
  if (changing === 'repairing') return END_REPAIR.has(action);
  return changing === undefined && ALLOWED[state].includes(action);
}

/** Returns true if a file, or an invitation, may be treated so now. */
export function allows(
  share: Share,
  action: ShareAction,
  now: Millis,
  changing?: Change | undefined,
): boolean {
  const invitation = share.invitation !== undefined;
  return allowsShown({ state: shownState(share, now), changing, invitation }, action);
}

/** Returns the state after a restart of the program: uploads that ran wait for their turn. */
export function afterRestart(state: KeptState): KeptState {
  return state === 'sending' ? 'waiting' : state;
}

/**
 * Chooses the uploads to start: the oldest ones that wait.
 *
 * @param atATime most uploads at a time
 */
export function toStart<S extends Share>(shares: Iterable<S>, atATime: number): S[] {
  const all = [...shares];
  const free = atATime - all.filter(({ state }) => state === 'sending').length;
  const waiting = all.filter(
    ({ state, revokeAt }) => state === 'waiting' && revokeAt === undefined,
  );
  waiting.sort((a, b) => a.createdAt - b.createdAt);
  return waiting.slice(0, Math.max(0, free));
}

/** Returns when the next revocation is due; undefined: there is none. */
export function nextRevocation(shares: Iterable<Share>): Millis | undefined {
  const due = [...shares].flatMap(({ revokeAt }) => revokeAt ?? []);
  return due.length === 0 ? undefined : due.reduce((a, b) => Math.min(a, b));
}
