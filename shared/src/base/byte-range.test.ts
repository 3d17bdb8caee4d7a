import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { RangeSet } from './byte-range.ts';

const range = fc
  .tuple(fc.nat(60), fc.nat(20))
  .map(([start, length]) => ({ start, end: start + length }));

/** The same set as an array of booleans. */
class Model {
  readonly bytes = new Array<boolean>(100).fill(false);

  set(r: { start: number; end: number }, value: boolean) {
    for (let i = r.start; i < r.end; i++) this.bytes[i] = value;
  }
}

describe('RangeSet', () => {
  test('behaves like a set of single bytes under additions and removals', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ add: fc.boolean(), range })), range, (steps, probe) => {
        const set = new RangeSet();
        const model = new Model();
        for (const step of steps) {
          if (step.add) set.add(step.range);
          else set.remove(step.range);
          model.set(step.range, step.add);
        }
        const within = model.bytes.slice(probe.start, probe.end);
        expect(set.bytes).toBe(model.bytes.filter(Boolean).length);
        expect(set.covers(probe)).toBe(within.every(Boolean));
        expect(set.bytesWithin(probe)).toBe(within.filter(Boolean).length);
        const missing = new RangeSet(set.missing(probe));
        expect(missing.bytes).toBe(within.filter((b) => !b).length);
      }),
    );
  });

  test('removing an empty range does not cut the range around it in two', () => {
    const set = new RangeSet([{ start: 0, end: 2 }]);
    set.remove({ start: 1, end: 1 });
    expect(set.ranges).toEqual([{ start: 0, end: 2 }]);
    expect(set.covers({ start: 0, end: 2 })).toBe(true);
  });

  test('keeps its ranges sorted, disjoint and not touching', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ add: fc.boolean(), range })), (steps) => {
        const set = new RangeSet();
        for (const step of steps) {
          if (step.add) set.add(step.range);
          else set.remove(step.range);
        }
        set.ranges.forEach((r, i) => {
          expect(r.start).toBeLessThan(r.end);
          if (i > 0) expect(set.ranges[i - 1]?.end).toBeLessThan(r.start);
        });
      }),
    );
  });
});
