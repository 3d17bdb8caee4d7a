/** States of files that were sent. */

import { expect, test } from '@jest/globals';
import {
  afterFailedRevocation,
  afterRestart,
  allows,
  MAX_REVOKE_TRIES,
  nextRevocation,
  type Share,
  shownState,
  toStart,
} from './share-state.ts';

const share = (id: string, more: Partial<Share> = {}): Share => ({
  ...{ id, state: 'waiting', createdAt: 0 },
  ...more,
});

test('a file whose lease is over has expired, and can be forgotten but not extended', () => {
  const one = share('a', { state: 'shared', expires: 1000 });
  expect([shownState(one, 999), shownState(one, 1000)]).toEqual(['shared', 'expired']);
  expect([allows(one, 'extend', 999), allows(one, 'extend', 1000)]).toEqual([true, false]);
  expect(allows(one, 'forget', 1000)).toBe(true);
});

test('a repair can be stopped, and does not keep a file from being revoked', () => {
  const one = share('a', { state: 'shared', expires: 1000 });
  const all = ['check', 'repair', 'stop', 'extend', 'revoke', 'forget'] as const;
  const allowed = (changing?: 'repairing' | 'extending', now = 0) =>
    all.filter((action) => allows(one, action, now, changing));
  expect(allowed()).toEqual(['check', 'repair', 'extend', 'revoke']);
  expect(allowed('repairing')).toEqual(['stop', 'revoke']);
  expect(allowed('repairing', 2000)).toEqual(['stop', 'revoke']);
  expect(allowed('extending')).toEqual([]);
});

test('an invitation has no copies to check or to repair', () => {
  const one = share('a', { state: 'shared', invitation: {} });
  const asked = (['check', 'repair', 'extend', 'revoke'] as const).filter((action) =>
    allows(one, action, 0),
  );
  expect(asked).toEqual(['extend', 'revoke']);
});

test('while a file is about to be revoked, that can only be undone', () => {
  const one = share('a', { state: 'shared', expires: 1e9, revokeAt: 10 });
  expect(shownState(one, 0)).toBe('revoking');
  expect(allows(one, 'undo', 0)).toBe(true);
  for (const action of ['extend', 'revoke', 'forget', 'pause'] as const) {
    expect(allows(one, action, 0)).toBe(false);
  }
});

test('uploads start in the order in which they came, a few at a time', () => {
  const shares = [
    share('new', { createdAt: 3 }),
    share('runs', { state: 'sending' }),
    share('goes', { createdAt: 1, revokeAt: 5 }),
    share('old', { createdAt: 2 }),
    share('rests', { state: 'paused' }),
  ];
  const ids = (atATime: number) => toStart(shares, atATime).map(({ id }) => id);
  expect([ids(1), ids(2), ids(9)]).toEqual([[], ['old'], ['old', 'new']]);
});

test('an upload that a restart has interrupted waits for its turn; a paused one stays paused', () => {
  expect(afterRestart('sending')).toBe('waiting');
  for (const state of ['paused', 'failed', 'shared', 'revoked'] as const) {
    expect(afterRestart(state)).toBe(state);
  }
});

test('the next revocation is the earliest one', () => {
  expect(nextRevocation([share('a')])).toBeUndefined();
  expect(nextRevocation([share('a', { revokeAt: 7 }), share('b', { revokeAt: 3 })])).toBe(3);
});

test('a revocation that fails is tried again ever later, but not for ever', () => {
  const DAY_MS = 86_400_000;
  let one = share('a', { state: 'shared', expires: 40 * DAY_MS });
  let now = 0;
  const pauses: number[] = [];
  for (let tries = 0; tries < MAX_REVOKE_TRIES - 1; tries++) {
    one = { ...one, ...afterFailedRevocation(one, now) };
    expect(shownState(one, now)).toBe(now < 40 * DAY_MS ? 'revoke-failed' : 'expired');
    expect(nextRevocation([one])).toBe(one.revokeAt);
    pauses.push((one.revokeAt as number) - now);
    now = one.revokeAt as number;
  }
  expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
  expect([pauses[0], pauses.at(-1)]).toEqual([60_000, DAY_MS]);
  const last = { ...one, ...afterFailedRevocation(one, now) };
  expect(last).toMatchObject({ revokeAt: undefined, revokeTries: undefined });
  // The user can ask for it at once, and the list of capabilities is kept meanwhile.
  const failed = share('b', { state: 'shared', revokeAt: 9, revokeTries: 1, expires: DAY_MS });
  expect(allows(failed, 'revoke', 0)).toBe(true);
  for (const action of ['undo', 'forget', 'extend'] as const) {
    expect(allows(failed, action, 0)).toBe(false);
  }
  expect(allows(failed, 'forget', DAY_MS)).toBe(true);
});
