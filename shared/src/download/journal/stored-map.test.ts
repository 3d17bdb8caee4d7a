import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ByteRange, RangeSet } from '../../base/byte-range.ts';
import { StoredMap } from './stored-map.ts';

const LENGTH = 1000;

const ranges = fc
  .tuple(fc.nat(LENGTH + 50), fc.nat(300))
  .map(([start, bytes]): ByteRange => ({ start, end: start + bytes }));

describe('StoredMap', () => {
  test('is a set of bytes under any additions and removals in any order', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 16, 64, 1024),
        fc.array(fc.record({ add: fc.boolean(), range: ranges }), { maxLength: 30 }),
        ranges.filter(({ start }) => start < LENGTH),
        (blockBytes, steps, probe) => {
          const map = new StoredMap(LENGTH, blockBytes);
          const set = new RangeSet();
          for (const { add, range } of steps) {
            const before = set.bytes;
            if (add) set.add({ start: range.start, end: Math.min(LENGTH, range.end) });
            else set.remove(range);
            const changed = add ? map.add(range) : map.remove(range);
            expect(changed).toBe(Math.abs(set.bytes - before));
          }
          expect(map.bytes).toBe(set.bytes);
          const inside = { start: probe.start, end: Math.min(LENGTH, probe.end) };
          expect(map.missing(probe)).toEqual(set.missing(inside));
          expect(map.bytesWithin(probe)).toBe(set.bytesWithin(probe));
          expect(map.nextMissing(probe.start)).toBe(
            set.missing({ start: probe.start, end: LENGTH })[0]?.start ?? LENGTH,
          );
          const stored = set.ranges.find((r) => r.end > probe.start && r.start < inside.end);
          expect(map.nextStored(probe.start, inside.end)).toBe(
            Math.max(probe.start, stored?.start ?? inside.end),
          );
        },
      ),
    );
  });
});
