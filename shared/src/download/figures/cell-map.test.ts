import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { RangeSet } from '../../base/byte-range.ts';
import { broughtBy, giversOf, storedShares } from './cell-map.ts';

const range = (start: number, end: number) => ({ start, end });

describe('storedShares', () => {
  test('parts are empty, full, or in between', () => {
    expect(storedShares([range(0, 30), range(35, 40)], 40, 4)).toEqual([1, 1, 1, 0.5]);
    expect(storedShares([range(5, 25)], 40, 4)).toEqual([0.5, 1, 0.5, 0]);
  });

  test('a file that is empty or of unknown length has nothing stored', () => {
    expect(storedShares([range(0, 5)], undefined, 2)).toEqual([0, 0]);
    expect(storedShares([], 0, 2)).toEqual([0, 0]);
  });

  test('there can be more parts than bytes', () => {
    expect(storedShares([range(0, 2)], 2, 8).at(-1)).toBe(1);
    expect(storedShares([range(0, 3)], 3, 7).every((share) => share <= 1)).toBe(true);
  });

  test('all shares together add up to the stored bytes', () => {
    const part = fc.tuple(fc.nat(5000), fc.nat(5000));
    fc.assert(
      fc.property(fc.array(part), fc.integer({ min: 1, max: 100 }), (parts, cells) => {
        const set = new RangeSet();
        for (const [a, b] of parts) set.add(range(Math.min(a, b), Math.max(a, b)));
        const shares = storedShares(set.ranges, 5000, cells);
        const starts = Array.from({ length: cells + 1 }, (_, i) => Math.floor((5000 * i) / cells));
        for (const [i, share] of shares.entries()) {
          const cell = range(starts[i] as number, starts[i + 1] as number);
          expect(share * (cell.end - cell.start)).toBeCloseTo(set.bytesWithin(cell), 6);
        }
      }),
    );
  });
});

describe('broughtBy', () => {
  test('gives cells without bytes to the source of the next byte, so that a tiny file has no gaps', () => {
    expect(broughtBy([giver(range(0, 3))], 3, 8)).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(broughtBy([giver(range(0, 1)), giver(range(1, 2))], 2, 4)).toEqual([0, 0, 1, 1]);
  });

  const giver = (...ranges: { start: number; end: number }[]) => ({ ranges, suspect: false });

  test('a part belongs to the source that brought most of it', () => {
    const givers = [giver(range(0, 12), range(39, 40)), giver(range(12, 30))];
    expect(broughtBy(givers, 40, 4)).toEqual([0, 1, 1, 0]);
  });

  test('a part that no source has brought belongs to no source', () => {
    expect(broughtBy([giver(range(0, 10))], 40, 4)).toEqual([0, -1, -1, -1]);
    expect(broughtBy([], 40, 2)).toEqual([-1, -1]);
    expect(broughtBy([giver(range(0, 10))], undefined, 2)).toEqual([-1, -1]);
  });

  test('a part of a suspect goes to the source it was fetched from again', () => {
    const suspect = { ...giver(range(0, 40)), suspect: true };
    expect(broughtBy([suspect, giver(range(10, 11))], 40, 4)).toEqual([0, 1, 0, 0]);
  });
});

describe('giversOf', () => {
  const silent = { ranges: [], receivedBytes: 0, suspect: false };

  test('noted ranges of one source make the notes count for all sources', () => {
    const noted = { ranges: [range(0, 10)], receivedBytes: 12, suspect: false };
    const unused = { ranges: [], receivedBytes: 5, suspect: true };
    const givers = giversOf([noted, unused, silent], [range(0, 30)]);
    expect(givers.map(({ ranges }) => ranges)).toEqual([[range(0, 10)], [], []]);
    expect(givers.map(({ suspect }) => suspect)).toEqual([false, true, false]);
  });

  test('in a file without notes, the source that sent bytes gave all that is stored', () => {
    const sender = { ranges: [], receivedBytes: 20, suspect: false };
    const givers = giversOf([silent, sender], [range(0, 20)]);
    expect(givers.map(({ ranges }) => ranges)).toEqual([[], [range(0, 20)]]);
    expect(broughtBy(givers, 40, 2)).toEqual([1, -1]);
  });
});
