/** States of files that a user has sent, and what each of them allows. Pure. */

import type { Millis } from '../base/clock.ts';

/** The state that is kept. What the clock decides is not in it. */
export type KeptState = 'waiting' | 'sending' | 'paused' | 'failed' | 'shared' | 'revoked';
export type ShownState = KeptState | 'expired' | 'revoking';

export interface Share {
  readonly id: string;
  readonly state: KeptState;
  /** When it is revoked, Unix milliseconds, unless that is undone before. */
  readonly revokeAt?: Millis | undefined;
  /** First end of a lease. */
  readonly expires?: Millis | undefined;
  readonly createdAt: Millis;
}

export type ShareAction = 'pause' | 'resume' | 'extend' | 'revoke' | 'undo' | 'forget';

/** Time for which a revocation can be undone. */
export const UNDO_REVOKE_MS: Millis = 10_000;

const ALLOWED: Readonly<Record<ShownState, readonly ShareAction[]>> = {
  waiting: ['pause', 'revoke'],
  sending: ['pause', 'revoke'],
  paused: ['resume', 'revoke'],
  failed: ['resume', 'revoke', 'forget'],
  // Its only list of capabilities is not to be lost while there is something to manage.
  shared: ['extend', 'revoke'],
  expired: ['revoke', 'forget'],
  revoking: ['undo'],
  revoked: ['forget'],
};

/** Returns the state to show. @param now Unix milliseconds */
export function shownState({ state, revokeAt, expires }: Share, now: Millis): ShownState {
  if (revokeAt !== undefined) return 'revoking';
  return state === 'shared' && expires !== undefined && expires <= now ? 'expired' : state;
}

/** Returns true if a file in a shown state may be treated so. */
export function allowsShown(state: ShownState, action: ShareAction): boolean {
  return ALLOWED[state].includes(action);
}

/** Returns true if a file may be treated so now. */
export function allows(share: Share, action: ShareAction, now: Millis): boolean {
  return allowsShown(shownState(share, now), action);
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
