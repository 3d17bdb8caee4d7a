/** Files that were sent, as the page keeps them. */

import { expect, test } from '@jest/globals';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import {
  allowedTerm,
  depotsFor,
  guestSizes,
  isDescription,
  liveCount,
  sentPart,
  termsFor,
  withShares,
} from './shares.ts';

const share = (id: string, more: Partial<ShareView> = {}): ShareView => ({
  ...{ id, name: id, bytes: 10, state: 'shared', sentBytes: 0, totalBytes: 20, seconds: 60 },
  ...{ createdAt: 0, encrypted: false, wholeFile: true, places: [] },
  ...more,
});

test('an update changes files in their places, adds new ones in front, and drops those that went', () => {
  const before = [share('b'), share('a')];
  const changed = [
    share('a', { state: 'revoked' }),
    share('c', { createdAt: 5 }),
    share('d', { createdAt: 6 }),
  ];
  const after = withShares(before, { revision: 1, shares: changed, goneShares: ['b'] });
  expect(after.map(({ id, state }) => [id, state])).toEqual([
    ['d', 'shared'],
    ['c', 'shared'],
    ['a', 'revoked'],
  ]);
  expect(withShares(before, { revision: 2 })).toBe(before);
});

test('revoked and expired files are not counted', () => {
  expect(
    liveCount([share('a'), share('b', { state: 'expired' }), share('c', { state: 'revoked' })]),
  ).toBe(1);
});

test('the sent part of an empty file is nothing, and never more than all', () => {
  expect(sentPart(share('a', { totalBytes: 0 }))).toBe(0);
  expect(sentPart(share('a', { sentBytes: 30 }))).toBe(1);
});

test('descriptions of downloads are not offered to be sent when they are dropped', () => {
  const names = ['a.meta4', 'a.METALINK', 'a.exnode', 'links.txt', 'x.url'];
  expect(names.map(isDescription)).toEqual(names.map(() => true));
  expect(['talk.tar', 'a.exnode.zip', 'txt'].some(isDescription)).toBe(false);
});

test('no term is offered that a depot does not allow; the shortest always is', () => {
  const of = (...most: (number | undefined)[]) =>
    termsFor(most.map((maxSeconds) => ({ url: 'http://a.example', ok: true, maxSeconds })));
  expect(of()).toEqual(['day', 'week', 'month', 'quarter']);
  expect(of(undefined, 90 * 86_400)).toEqual(['day', 'week', 'month', 'quarter']);
  expect(of(90 * 86_400, 30 * 86_400)).toEqual(['day', 'week', 'month']);
  expect(of(60)).toEqual(['day']);
  expect([allowedTerm('quarter', ['day', 'week']), allowedTerm('day', ['day', 'week'])]).toEqual([
    'week',
    'day',
  ]);
});

test('copies go to depots that have answered and have room, in the order of the user', () => {
  const [a, b, c] = ['http://a.example', 'http://b.example', 'http://c.example'] as const;
  const checks = new Map([
    [a, { url: a, ok: true, bytesLeft: 5, eachBytes: 3 }],
    [b, { url: b, ok: false }],
  ]);
  const of = (copies: number, ...sizes: number[]) =>
    depotsFor([a, b, c], checks, { copies, sizes });
  expect(of(2, 2, 2)).toEqual([a, c]);
  expect(of(2, 3, 3)).toEqual([c, a]);
  expect(of(2, 4)).toEqual([c, a]);
  expect(of(3, 4)).toEqual([c, a, b]);
});

test('a guest is offered no more than the depot has room for, and something if there is any', () => {
  const of = (bytesLeft: number, eachBytes?: number) =>
    guestSizes({ url: 'http://a.example', ok: true, bytesLeft, eachBytes });
  const mib = 1024 ** 2;
  expect(guestSizes(undefined).length).toBe(4);
  expect(of(2 * 1024 * mib)).toEqual([100 * mib, 1024 * mib]);
  expect(of(2 * 1024 * mib, 100 * mib)).toEqual([100 * mib]);
  expect(of(5 * mib + 1)).toEqual([5 * mib]);
  expect(of(mib - 1)).toEqual([]);
});
