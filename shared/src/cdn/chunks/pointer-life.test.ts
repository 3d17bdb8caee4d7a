import { describe, expect, test } from '@jest/globals';
import {
  afterFailure,
  freshnessByDigest,
  isGoodFor,
  patienceMs,
  secondsLeft,
} from './pointer-life.ts';

const HOUR = 3_600_000;

/** Arrived at 1000 s, ten seconds old, fresh for a minute and usable on errors for another. */
const FRESH = {
  notStorable: undefined,
  initialAgeMs: 10_000,
  arrivedAt: 1_000_000,
  lifetimeMs: 60_000,
  staleIfErrorMs: 60_000,
};
/** The time at which `FRESH` has that age. */
const atAge = (ageMs: number) => FRESH.arrivedAt + ageMs - FRESH.initialAgeMs;

describe('a pointer', () => {
  test('can be used until its lifetime is over, or for less time by a client that wants it younger', () => {
    expect(isGoodFor(FRESH, { maxAgeMs: undefined }, atAge(59_999))).toBe(true);
    expect(isGoodFor(FRESH, { maxAgeMs: undefined }, atAge(60_000))).toBe(false);
    expect(isGoodFor(FRESH, { maxAgeMs: 30_000 }, atAge(30_000))).toBe(true);
    expect(isGoodFor(FRESH, { maxAgeMs: 30_000 }, atAge(30_001))).toBe(false);
    expect(isGoodFor(FRESH, { maxAgeMs: 2 * HOUR }, atAge(60_000))).toBe(false);
  });

  test('says how long it stays fresh, and how long it has been stale', () => {
    expect(secondsLeft(FRESH, atAge(10_000))).toBe(50);
    expect(secondsLeft(FRESH, atAge(62_000))).toBe(-2);
  });
});

describe('content that was requested by its digest', () => {
  test('needs no revalidation for an hour if it has that digest', () => {
    const verified = freshnessByDigest(FRESH, true);
    expect(isGoodFor(verified, { maxAgeMs: undefined }, FRESH.arrivedAt + HOUR - 1)).toBe(true);
    expect(isGoodFor(verified, { maxAgeMs: undefined }, FRESH.arrivedAt + HOUR)).toBe(false);
    const long = { ...FRESH, lifetimeMs: 5 * HOUR };
    expect(freshnessByDigest(long, true)).toEqual(long);
  });

  test('is revalidated after a minute if it only may have it, whatever the origin says', () => {
    const unverified = freshnessByDigest({ ...FRESH, lifetimeMs: 5 * HOUR }, false);
    expect(isGoodFor(unverified, { maxAgeMs: undefined }, FRESH.arrivedAt + 59_999)).toBe(true);
    expect(isGoodFor(unverified, { maxAgeMs: undefined }, FRESH.arrivedAt + 60_000)).toBe(false);
    expect(freshnessByDigest(FRESH, false)).toEqual(FRESH);
  });
});

describe('a failure to find out the current version', () => {
  test('leaves the pointer in use while the origin cannot be reached, but not for ever', () => {
    expect(afterFailure('origin-unreachable', FRESH, atAge(119_999))).toBe('stale');
    expect(afterFailure('origin-busy', FRESH, atAge(70_000))).toBe('stale');
    expect(afterFailure('origin-unreachable', FRESH, atAge(120_000))).toBe('kept');
    expect(afterFailure('origin-unreachable', undefined, atAge(0))).toBe('kept');
  });

  test('ends the pointer if the origin denies the file, or no longer has it', () => {
    expect(afterFailure('origin-gone', FRESH, atAge(20_000))).toBe('forgotten');
    expect(afterFailure('origin-denied', FRESH, atAge(20_000))).toBe('forgotten');
    expect(afterFailure('version-changed', undefined, atAge(0))).toBe('forgotten');
  });

  test('of this node alone leaves the pointer as it was', () => {
    expect(afterFailure('internal', FRESH, atAge(20_000))).toBe('kept');
    expect(afterFailure('interrupted', FRESH, atAge(20_000))).toBe('kept');
  });
});

describe('patience with a silent origin', () => {
  const demands = { revalidate: false, maxAgeMs: undefined };

  test('is over after a third of the longest silence where the stale file may be used', () => {
    expect(patienceMs(FRESH, demands, 30_000, atAge(119_999))).toBe(10_000);
    expect(patienceMs(FRESH, demands, 30_000, atAge(120_000))).toBeUndefined();
    expect(patienceMs(undefined, demands, 30_000, atAge(0))).toBeUndefined();
  });

  test('has no end for a client that wants the origin to be asked, or a younger file', () => {
    const now = atAge(70_000);
    expect(patienceMs(FRESH, { ...demands, revalidate: true }, 30_000, now)).toBeUndefined();
    expect(patienceMs(FRESH, { ...demands, maxAgeMs: 0 }, 30_000, now)).toBeUndefined();
  });
});
