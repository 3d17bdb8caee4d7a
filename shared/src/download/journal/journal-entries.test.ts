import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JournalEntry } from './journal.ts';
import { JournalEntries } from './journal-entries.ts';

const digest = (n: number) => n.toString(16).padStart(16, '0');
const entry = (start: number, end: number, n = start): JournalEntry => ({
  range: { start, end },
  digest: digest(n),
});
/** 95 bytes in units of 10. */
const entries = (...all: JournalEntry[]) => {
  const made = new JournalEntries(95, 10);
  for (const one of all) made.add(one);
  return made;
};
const listed = (from: JournalEntries) => [...from];

describe('JournalEntries', () => {
  test('lists added entries in the order of the file', () => {
    const all = entries(entry(90, 95), entry(14, 20), entry(0, 10), entry(11, 12));
    expect(listed(all)).toEqual([entry(0, 10), entry(11, 12), entry(14, 20), entry(90, 95)]);
    expect(all.count).toBe(4);
  });

  test('cuts ranges where units end', () => {
    expect([...entries().cut({ start: 5, end: 25 })]).toEqual([
      { start: 5, end: 10 },
      { start: 10, end: 20 },
      { start: 20, end: 25 },
    ]);
    expect([...entries().cut({ start: 5, end: 5 })]).toEqual([]);
    expect(() => entries(entry(5, 15))).toThrow(RangeError);
  });

  test('returns the parts that fill a unit, so that one entry can replace them', () => {
    const all = entries(entry(16, 20), entry(10, 12));
    const parts = all.add(entry(12, 16));
    expect(parts).toEqual([entry(10, 12), entry(12, 16), entry(16, 20)]);
    expect(all.add(entry(10, 20, 7))).toBe(undefined);
    expect(listed(all)).toEqual([entry(10, 20, 7)]);
    expect(all.count).toBe(1);
    // The last unit is shorter.
    expect(entries(entry(90, 93)).add(entry(93, 95))).toHaveLength(2);
  });

  test('a newer entry replaces older ones for the same bytes', () => {
    const all = entries(entry(0, 10), entry(0, 10, 99), entry(20, 25), entry(24, 26));
    expect(listed(all)).toEqual([entry(0, 10, 99), entry(24, 26)]);
  });

  test('remove() returns the whole ranges of all removed entries, even beyond the given range', () => {
    const all = entries(entry(0, 10), entry(10, 15), entry(15, 20), entry(20, 30));
    expect(all.remove({ start: 8, end: 12 })).toEqual([
      { start: 0, end: 10 },
      { start: 10, end: 15 },
    ]);
    expect(listed(all)).toEqual([entry(15, 20), entry(20, 30)]);
    expect(all.remove({ start: 40, end: 50 })).toEqual([]);
    expect(all.count).toBe(2);
  });

  test('a byte has the digest last added for it, and only that', () => {
    const within = fc.nat(99).chain((unit) =>
      fc.tuple(fc.nat(9), fc.nat(9), fc.nat(2 ** 31)).map(([a, b, n]) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b) + 1];
        return entry(unit * 10 + start, unit * 10 + end, n);
      }),
    );
    const step = fc.oneof(within, fc.tuple(fc.nat(999), fc.nat(50)));
    const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const all = new JournalEntries(1000, 10);
      const model = new Map<number, string>();
      for (const one of steps) {
        if (Array.isArray(one)) {
          const range = { start: one[0], end: Math.min(1000, one[0] + one[1]) };
          for (const gone of [range, ...all.remove(range)]) {
            for (let at = gone.start; at < gone.end; at++) model.delete(at);
          }
        } else {
          const before = [...all];
          all.add(one);
          for (const { range } of before) {
            if (range.start >= one.range.end || range.end <= one.range.start) continue;
            for (let at = range.start; at < range.end; at++) model.delete(at);
          }
          for (let at = one.range.start; at < one.range.end; at++) model.set(at, one.digest);
        }
      }
      const said = new Map<number, string>();
      for (const { range, digest: hex } of all) {
        for (let at = range.start; at < range.end; at++) {
          expect(said.has(at)).toBe(false);
          said.set(at, hex);
        }
      }
      expect([...said].sort((a, b) => a[0] - b[0])).toEqual([...model].sort((a, b) => a[0] - b[0]));
      expect(all.count).toBe([...all].length);
    });
    fc.assert(property, { seed: 1, numRuns: 200 });
  });
});
