import { describe, expect, test } from '@jest/globals';
import { type ErrorCode, MillraceError } from '../base/errors.ts';
import { counts, type Finding, findingOf, lastEnd, type ReplicaState } from './findings.ts';

const replica = { read: 'http://a.example/', at: 0, expires: 1000 };

describe('a replica whose place fails', () => {
  test.each<[ErrorCode, number, ReplicaState]>([
    ['origin-refused', 999, 'silent'],
    ['origin-timeout', 999, 'silent'],
    ['origin-reset', 1000, 'expired'],
    ['origin-not-found', 999, 'gone'],
    ['origin-not-found', 1000, 'expired'],
    ['origin-gone', 999, 'expired'],
    ['origin-denied', 999, 'failing'],
    ['origin-error', 1000, 'failing'],
    ['source-refused', 999, 'failing'],
    ['wrong-length', 999, 'short'],
  ])('by %s at %d is found to be %s', (code, now, state) => {
    expect(findingOf(new MillraceError(code), replica, now).state).toBe(state);
  });

  test('for good at a server without leases is gone, and not expired', () => {
    const { expires: _, ...plain } = replica;
    expect(findingOf(new MillraceError('origin-gone'), plain, 5000).state).toBe('gone');
  });
});

test('a replica counts if it is there, or if nobody has asked and its lease lasts', () => {
  const states: ReplicaState[] = ['silent', 'failing', 'expired', 'gone', 'short', 'damaged'];
  const found = (state: ReplicaState) => new Map([[replica, { state } as Finding]]);
  for (const state of states) expect(counts(replica, found(state), 0)).toBe(false);
  // A place that still has it knows better than the exNode.
  expect(counts(replica, found('there'), 5000)).toBe(true);
  expect([999, 1000].map((now) => counts(replica, undefined, now))).toEqual([true, false]);
});

test('the last end is that of the replicas that are there, as their places tell it', () => {
  const [a, b, c] = [{ ...replica }, { ...replica, expires: 3000 }, { ...replica, expires: 9000 }];
  const found = new Map<typeof replica, Finding>([
    [a, { state: 'there', expires: 5000 }],
    [b, { state: 'there' }],
    [c, { state: 'silent' }],
  ]);
  expect(lastEnd(found)).toBe(5000);
  expect(lastEnd(new Map([[c, { state: 'gone' }]]))).toBeUndefined();
});
