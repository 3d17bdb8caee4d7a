import { describe, expect, test } from '@jest/globals';
import { LearnedCounts } from './learned-counts.ts';

const HOUR = 3600_000;

describe('LearnedCounts', () => {
  test('remembers the last count of a host for an hour', () => {
    const counts = new LearnedCounts();
    expect(counts.needed('a', 0)).toBeUndefined();
    counts.onNeeded('a', 16, 0);
    counts.onNeeded('a', 24, 1000);
    expect(counts.needed('a', HOUR)).toBe(24);
    expect(counts.needed('b', HOUR)).toBeUndefined();
    expect(counts.needed('a', 1001 + HOUR)).toBeUndefined();
  });

  test('a clock that was set back makes a count unknown', () => {
    const counts = new LearnedCounts();
    counts.onNeeded('a', 16, HOUR);
    expect(counts.needed('a', 0)).toBeUndefined();
  });

  test('of a thousand and one hosts, the one used longest ago is forgotten', () => {
    const counts = new LearnedCounts();
    for (let i = 0; i <= 1000; i++) {
      counts.onNeeded(`host-${i}`, 8, i);
      counts.onNeeded('host-0', 8, i);
    }
    expect(counts.needed('host-0', 1000)).toBe(8);
    expect(counts.needed('host-1', 1000)).toBeUndefined();
    expect(counts.needed('host-2', 1000)).toBe(8);
  });
});
