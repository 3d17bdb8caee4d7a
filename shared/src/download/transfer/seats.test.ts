import { describe, expect, test } from '@jest/globals';
import { seatOrder } from './seats.ts';

const source = (name: string, over: object = {}) => ({
  name,
  tier: 0 as const,
  usable: true,
  active: 0,
  limit: 4,
  ...over,
});
const names = (seats: readonly { readonly name: string }[]) => seats.map(({ name }) => name);

describe('seatOrder', () => {
  test('the source with the fewest requests under way comes first', () => {
    const seats = [source('a', { active: 2 }), source('b'), source('c', { active: 1 })];
    expect(names(seatOrder(seats, false))).toEqual(['b', 'c', 'a']);
  });

  test('a source that rests, or is at its limit, gets no request', () => {
    const seats = [
      source('resting', { usable: false }),
      source('full', { active: 4 }),
      source('a'),
    ];
    expect(names(seatOrder(seats, false))).toEqual(['a']);
  });

  test('the origin is spared while an edge works, even when all edges are busy', () => {
    const origin = source('origin', { tier: 1 });
    expect(names(seatOrder([source('edge'), origin], false))).toEqual(['edge']);
    expect(seatOrder([source('edge', { active: 4 }), origin], false)).toEqual([]);
    expect(names(seatOrder([source('edge', { usable: false }), origin], false))).toEqual([
      'origin',
    ]);
  });

  test('the origin helps when nothing comes from the edges any more', () => {
    const seats = [source('origin', { tier: 1 }), source('edge', { active: 3 })];
    expect(names(seatOrder(seats, true))).toEqual(['edge', 'origin']);
  });
});
