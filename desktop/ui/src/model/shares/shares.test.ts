/** Files that were sent, as the page keeps them. */

import { expect, test } from '@jest/globals';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { isDescription, liveCount, sentPart, withShares } from './shares.ts';

const share = (id: string, more: Partial<ShareView> = {}): ShareView => ({
  ...{ id, name: id, bytes: 10, state: 'shared', sentBytes: 0, totalBytes: 20, seconds: 60 },
  ...{ createdAt: 0, wholeFile: true, places: [] },
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
