import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { beyondKeeping, expiresAt, MAX_TRASH_ENTRIES, type TrashEntry } from './trash.ts';

const DAY = 24 * 3600_000;
const GIB = 1024 ** 3;
const limits = { days: 7, maxBytes: 10 * GIB };
const entry = (gid: string, removedAt: number, bytes = 0, batch = gid): TrashEntry => ({
  gid,
  batch,
  removedAt,
  bytes,
});

describe('the trash', () => {
  test('keeps removed downloads for exactly its number of days', () => {
    const entries = [entry('a', 0), entry('b', 1)];
    expect(beyondKeeping(entries, limits, 7 * DAY - 1)).toEqual([]);
    expect(beyondKeeping(entries, limits, 7 * DAY)).toEqual(['a']);
    expect(expiresAt({ removedAt: 5 }, 7)).toBe(7 * DAY + 5);
  });

  test('deletes the oldest entries if it is too large, and no more than necessary', () => {
    const entries = [entry('a', 0, 4 * GIB), entry('b', 1, 4 * GIB), entry('c', 2, 4 * GIB)];
    expect(beyondKeeping(entries, limits, 10)).toEqual(['a']);
  });

  test('keeps all of the last removal, however large it was', () => {
    const entries = [
      entry('a', 0, GIB),
      entry('b', 1, 30 * GIB, 'last'),
      entry('c', 1, 30 * GIB, 'last'),
    ];
    expect(beyondKeeping(entries, limits, 10)).toEqual(['a']);
  });

  test('limits the number of entries as well', () => {
    const entries = Array.from({ length: MAX_TRASH_ENTRIES + 5 }, (_, i) => entry(`${i}`, i));
    expect(beyondKeeping(entries, limits, 10)).toEqual(['0', '1', '2', '3', '4']);
  });

  test('keeps nothing if its number of days is 0', () => {
    expect(beyondKeeping([entry('a', 5)], { ...limits, days: 0 }, 5)).toEqual(['a']);
  });

  test('respects its limits except for the last removal, and lists no entry twice', () => {
    const some = fc.array(
      fc.record({ at: fc.nat(20 * DAY), bytes: fc.nat(8 * GIB), batch: fc.nat(4) }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(some, fc.nat(30 * DAY), (given, now) => {
        const entries = given
          .sort((a, b) => a.at - b.at)
          .map(({ at, bytes, batch }, i) => entry(`${i}`, at, bytes, `${batch}`));
        const over = beyondKeeping(entries, limits, now);
        expect(new Set(over).size).toBe(over.length);
        const kept = entries.filter(({ gid }) => !over.includes(gid));
        const last = kept.at(-1)?.batch;
        const first = kept.findIndex(({ batch }) => batch === last);
        const sum = kept.reduce((total, { bytes }) => total + bytes, 0);
        expect(first <= 0 || sum <= limits.maxBytes).toBe(true);
        for (const one of kept) expect(expiresAt(one, limits.days)).toBeGreaterThan(now);
      }),
    );
  });
});
