import { expect, test } from '@jest/globals';
import { ConnectionPlaces } from './connection-places.ts';

test('strangers have a share of their own, and make room for each other', () => {
  const places = new ConnectionPlaces<string>({ all: 4, strangers: 2 });
  expect(places.enter('a', false)).toBeUndefined();
  expect(places.enter('b', false)).toBeUndefined();
  expect(places.enter('c', false)).toBe('a');
  expect(places.enter('x', true)).toBeUndefined();
  expect(places.enter('y', true)).toBeUndefined();
});

test('strangers never displace those who have shown the token, but are displaced by them', () => {
  const places = new ConnectionPlaces<string>({ all: 3, strangers: 3 });
  for (const name of ['a', 'b', 'c']) places.enter(name, false);
  places.know('a');
  expect(places.enter('x', true)).toBe('b');
  expect(places.enter('y', true)).toBe('c');
  // Known clients hold all places, so a new connection gets none.
  expect(places.enter('d', false)).toBe('d');
  expect(places.enter('z', true)).toBe('z');
  places.leave('x');
  expect(places.enter('d', false)).toBeUndefined();
});
