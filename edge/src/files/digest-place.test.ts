import { describe, expect, test } from '@jest/globals';
import { DigestPlace } from './digest-place.ts';

const MiB = 2 ** 20;
const GB = 1e9;

/** Hashes pieces of 1 MiB at these speeds, in bytes per second. */
function hashed(...speeds: readonly number[]): DigestPlace {
  const place = new DigestPlace();
  for (const speed of speeds) {
    expect(place.isHere(MiB)).toBe(true);
    place.onHashed(MiB, (MiB * 1000) / speed);
  }
  return place;
}

describe('DigestPlace', () => {
  test('a quick processor hashes in the main thread, even if it was stopped at first', () => {
    const slow = Array.from({ length: 7 }, () => 0.2 * GB);
    expect(hashed(...slow, 1.5 * GB).isHere(MiB)).toBe(true);
  });

  test('a slow processor hashes in the thread pool, but pieces that are small', () => {
    const place = hashed(...Array.from({ length: 8 }, () => 0.5 * GB));
    expect(place.isHere(MiB)).toBe(false);
    expect(place.isHere(1000)).toBe(true);
  });

  test('small pieces tell nothing about the speed', () => {
    const place = new DigestPlace();
    for (let i = 0; i < 100; i++) place.onHashed(1000, 1);
    expect(place.isHere(MiB)).toBe(true);
  });

  test('a piece that would hold up transfers goes to the thread pool', () => {
    expect(hashed(2 * GB).isHere(4 * MiB)).toBe(false);
  });
});
