/**
 * Finds the journal lines that count where a later line has failed. Lines of a growing stretch
 * replace each other: after a crash of the machine the bytes of the last one may be missing, while
 * those of an earlier one are there.
 */

import { intersect, type RangeSet } from '../../base/byte-range.ts';
import type { JournalEntry } from './journal.ts';

/**
 * Returns the earlier entries for bytes of failed entries, in the given order.
 *
 * @param entries in the order written, each within one unit
 * @param failed entries whose bytes do not match their digest
 * @param proven bytes that match another entry
 * @param unitBytes length of a unit; units begin at its multiples
 */
export function supersededEntries(
  entries: readonly JournalEntry[],
  failed: readonly JournalEntry[],
  proven: RangeSet,
  unitBytes: number,
): JournalEntry[] {
  const unitOf = ({ range }: JournalEntry) => Math.floor(range.start / unitBytes);
  const byUnit = Map.groupBy(failed, unitOf);
  return entries.filter((entry) => {
    const wrong = byUnit.get(unitOf(entry));
    if (wrong === undefined || wrong.some((other) => isSame(entry, other))) return false;
    const touches = wrong.some((other) => intersect(entry.range, other.range) !== undefined);
    return touches && proven.bytesWithin(entry.range) === 0;
  });
}

function isSame(a: JournalEntry, b: JournalEntry): boolean {
  return a.range.start === b.range.start && a.range.end === b.range.end && a.digest === b.digest;
}
