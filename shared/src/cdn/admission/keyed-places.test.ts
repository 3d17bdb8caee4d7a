import { expect, test } from '@jest/globals';
import { KeyedPlaces } from './keyed-places.ts';

test('a key has its places, all together have theirs, and each is given back once', () => {
  const places = new KeyedPlaces(2, 3);
  const first = places.take('a');
  expect(places.take('a')).toBeDefined();
  expect(places.take('a')).toBeUndefined();
  expect(places.take('b')).toBeDefined();
  expect(places.take('c')).toBeUndefined();
  expect([places.running, places.of('a'), places.of('c')]).toEqual([3, 2, 0]);
  first?.();
  first?.();
  expect([places.running, places.of('a')]).toEqual([2, 1]);
  expect(places.take('c')).toBeDefined();
  expect(places.take('a')).toBeUndefined();
});
