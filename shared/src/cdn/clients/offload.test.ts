import { describe, expect, test } from '@jest/globals';
import { chooseOffload, type Offloadable } from './offload.ts';

const transfer = (remainingBytes: number, aware = true): Offloadable => ({ aware, remainingBytes });

describe('chooseOffload', () => {
  test('resets no transfer up to the limit', () => {
    expect(chooseOffload([], 0)).toEqual([]);
    expect(chooseOffload([transfer(1), transfer(2)], 2)).toEqual([]);
  });

  test('resets the longest transfer of the clients that continue elsewhere', () => {
    const all = [transfer(5), transfer(9), transfer(7), transfer(100, false)];
    expect(chooseOffload(all, 3)).toEqual([transfer(9)]);
  });

  test('resets others only if there is no such client', () => {
    const all = [transfer(5, false), transfer(9, false)];
    expect(chooseOffload(all, 1)).toEqual([transfer(9, false)]);
    expect(chooseOffload([transfer(1), ...all], 2)).toEqual([transfer(1)]);
  });

  test('resets a tenth at a time, so that other nodes are not overrun', () => {
    const all = Array.from({ length: 50 }, (_, i) => transfer(i));
    expect(chooseOffload(all, 0).map((t) => t.remainingBytes)).toEqual([49, 48, 47, 46, 45]);
    expect(chooseOffload(all, 48)).toHaveLength(2);
  });
});
