import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type KnownDistance, type ListedEdge, MAX_EDGES, planEdges } from './edge-order.ts';

const UNKNOWN: KnownDistance = { ms: undefined, isFresh: false };
const names = (edges: readonly ListedEdge[]) => edges.map(({ url }) => url);

describe('planEdges', () => {
  test('edges that were measured lately are used as they are, the nearest first', () => {
    const known = new Map([
      ['a', { ms: 90, isFresh: true }],
      ['b', { ms: 10, isFresh: true }],
      ['c', { ms: 1, isFresh: false }],
    ]);
    const edges = ['a', 'b', 'c', 'd'].map((url) => ({ url }));
    const plan = planEdges(edges, ({ url }) => known.get(url) ?? UNKNOWN, 5);
    expect(names(plan.use)).toEqual(['b', 'a']);
    expect(names(plan.measure)).toEqual(['c', 'd']);
  });

  test('of too many edges those are measured that are near by the list, whatever its order', () => {
    const edges = Array.from({ length: 1000 }, (_, i) => ({ url: `e${i}`, rttMs: 1000 - i }));
    const plan = planEdges(edges, () => UNKNOWN, 20);
    expect(plan.measure.length).toBeGreaterThan(MAX_EDGES);
    expect(plan.measure.length).toBeLessThan(2 * MAX_EDGES);
    expect(plan.measure[0]?.url).toBe('e999');
    expect(names(plan.measure)).not.toContain('e0');
  });

  test('an edge remembered as near is not lost behind many that the list calls near', () => {
    const many = Array.from({ length: 500 }, (_, i) => ({ url: `e${i}`, rttMs: 1 }));
    const edges = [...many, { url: 'mine', rttMs: 400 }];
    const known = ({ url }: ListedEdge) => (url === 'mine' ? { ms: 3, isFresh: true } : UNKNOWN);
    expect(names(planEdges(edges, known, 100).use)).toEqual(['mine']);
  });

  test('no edge is planned twice, and edges of unknown distance come after all others', () => {
    const list = fc.array(
      fc.record({
        rttMs: fc.option(fc.nat(500), { nil: undefined }),
        ms: fc.option(fc.nat(500), { nil: undefined }),
        isFresh: fc.boolean(),
      }),
      { maxLength: 120 },
    );
    fc.assert(
      fc.property(list, fc.nat(200), (given, firstMs) => {
        const edges = given.map((one, i) => ({ ...one, url: `e${i}` }));
        const known = ({ ms, isFresh }: (typeof edges)[number]) => ({
          ms,
          isFresh: isFresh && ms !== undefined,
        });
        const { use, measure } = planEdges(edges, known, firstMs);
        const planned = [...use, ...measure];
        expect(new Set(planned).size).toBe(planned.length);
        const isKnown = ({ ms, rttMs }: (typeof edges)[number]) => (ms ?? rttMs) !== undefined;
        if (planned.some((edge) => !isKnown(edge))) {
          expect(planned.filter(isKnown)).toHaveLength(edges.filter(isKnown).length);
        }
      }),
    );
  });
});
