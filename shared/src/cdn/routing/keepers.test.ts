import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashText } from './hrw.ts';
import { KEEPERS, keepersOf } from './keepers.ts';

const edge = (name: string, depot?: string) => ({ name, seed: hashText(name), depot });
const tag = (i: number) => `T${String(i).padStart(3, '0')}`;
const edges = Array.from({ length: 12 }, (_, i) => edge(`edge-${i}`, i < 9 ? tag(i) : undefined));
const anyId = fc.tuple(fc.stringMatching(/^[A-Za-z0-9_-]{12}$/), fc.integer({ min: 0, max: 8 }));

test('copies are kept by edges with depots, and not by the one with the exNode itself', () => {
  fc.assert(
    fc.property(anyId, ([begin, i]) => {
      const keepers = keepersOf(begin + tag(i), edges, KEEPERS);
      expect(new Set(keepers).size).toBe(KEEPERS);
      expect(keepers.every(({ depot }) => depot !== undefined && depot !== tag(i))).toBe(true);
    }),
  );
});

test('one edge less, or another one that asks, changes none of the other keepers', () => {
  fc.assert(
    fc.property(anyId, fc.integer({ min: 0, max: 11 }), ([begin, i], gone) => {
      const id = begin + tag(i);
      const before = keepersOf(id, edges, KEEPERS);
      const left = edges.filter((_, j) => j !== gone).reverse();
      const after = keepersOf(id, left, KEEPERS);
      for (const one of before) if (one !== edges[gone]) expect(after).toContain(one);
    }),
  );
});

test('a network with few depots keeps as many copies as it can', () => {
  expect(keepersOf(`AAAAAAAAAAAA${tag(0)}`, edges.slice(0, 2), KEEPERS)).toEqual([edges[1]]);
  expect(keepersOf(`AAAAAAAAAAAA${tag(0)}`, edges.slice(9), KEEPERS)).toEqual([]);
});
