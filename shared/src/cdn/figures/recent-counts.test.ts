import { describe, expect, test } from '@jest/globals';
import { mergeCounts, RecentCounts } from './recent-counts.ts';

describe('RecentCounts', () => {
  test('sums what has grown in the latest steps, without what was counted before', () => {
    const counts = new RecentCounts(1000, 10);
    counts.record({ old: 7 }, 5000);
    counts.record({ old: 9, late: 1 }, 6000);
    counts.record({ old: 9, late: 4 }, 8500);
    expect(counts.sum(1)).toEqual({ late: 3 });
    expect(counts.sum(3)).toEqual({ old: 2, late: 4 });
    expect(counts.sum(10)).toEqual({ old: 2, late: 4 });
  });

  test('forgets steps that are over, also those in which nothing was recorded', () => {
    const counts = new RecentCounts(1000, 10);
    counts.record({}, 0);
    counts.record({ a: 1 }, 1000);
    counts.record({ a: 1 }, 10_999);
    expect(counts.sum(10)).toEqual({ a: 1 });
    counts.record({ a: 1 }, 11_000);
    expect(counts.sum(10)).toEqual({});
  });

  test('a clock that is set back adds to the latest step', () => {
    const counts = new RecentCounts(1000, 10);
    counts.record({ a: 1 }, 50_000);
    counts.record({ a: 3 }, 20_000);
    expect(counts.sum(1)).toEqual({ a: 2 });
  });
});

test('counts of processes add up', () => {
  expect(mergeCounts([{ a: 1 }, { a: 2, b: 3 }, {}])).toEqual({ a: 3, b: 3 });
});
