import { describe, expect, test } from '@jest/globals';
import { RangeSet } from '../../base/byte-range.ts';
import type { JournalEntry } from './journal.ts';
import { supersededEntries } from './superseded.ts';

const entry = (start: number, end: number, digest = `${start}-${end}`): JournalEntry => ({
  range: { start, end },
  digest,
});
const first = entry(0, 40);
const second = entry(40, 100);
const unit = entry(0, 100);
const other = entry(100, 200);
const ALL = [first, second, unit, other];

describe('supersededEntries', () => {
  test('returns the earlier entries for the bytes of a failed one', () => {
    expect(supersededEntries(ALL, [unit], new RangeSet(), 100)).toEqual([first, second]);
  });

  test('leaves out entries of other bytes and of other units', () => {
    expect(supersededEntries(ALL, [second], new RangeSet(), 100)).toEqual([unit]);
    expect(supersededEntries(ALL, [other], new RangeSet(), 100)).toEqual([]);
  });

  test('leaves out entries for bytes that match another entry', () => {
    const proven = new RangeSet([{ start: 90, end: 95 }]);
    expect(supersededEntries(ALL, [unit], proven, 100)).toEqual([first]);
  });

  test('keeps an entry of the same bytes with another digest', () => {
    const rewritten = entry(0, 40, 'other');
    expect(supersededEntries([first, rewritten], [rewritten], new RangeSet(), 100)).toEqual([
      first,
    ]);
  });

  test('ends: an entry that has failed is never returned again', () => {
    let entries: readonly JournalEntry[] = [first, first, second, unit, unit];
    let rounds = 0;
    while (entries.length > 0) {
      entries = supersededEntries(entries, [entries.at(-1) as JournalEntry], new RangeSet(), 100);
      rounds++;
    }
    expect(rounds).toBe(2);
  });
});
