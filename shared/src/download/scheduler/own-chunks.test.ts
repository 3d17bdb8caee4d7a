import { describe, expect, test } from '@jest/globals';
import { OwnChunks } from './own-chunks.ts';

/** A file of 95 bytes in chunks of 10, of which the source owns 1, 2, 3, 6 and 9. */
const own = () => new OwnChunks(95, 10, (position) => [1, 2, 3, 6, 9].includes(position / 10));
const all = <R>(range: R) => range;

describe('OwnChunks', () => {
  test('finds the first own chunk that has free bytes', () => {
    const chunks = own();
    expect(chunks.next(5, all)).toEqual({ start: 10, end: 20 });
    expect(chunks.next(5, (r) => (r.start >= 40 ? r : undefined))).toEqual({ start: 60, end: 70 });
    expect(chunks.next(5, (r) => (r.start >= 70 ? r : undefined))).toEqual({ start: 90, end: 95 });
    expect(chunks.next(5, () => undefined)).toBeUndefined();
  });

  test('adds own chunks that follow, as many as are wanted', () => {
    expect(own().next(25, all)).toEqual({ start: 10, end: 30 });
    expect(own().next(1000, all)).toEqual({ start: 10, end: 40 });
  });

  test('takes the rest of a chunk', () => {
    const part = (r: { start: number; end: number }) =>
      r.start <= 14 && r.end > 14 ? { start: 14, end: 16 } : undefined;
    expect(own().next(1000, part)).toEqual({ start: 14, end: 16 });
  });

  test('goes back to bytes that have become free again', () => {
    const chunks = own();
    chunks.next(5, () => undefined);
    expect(chunks.next(5, all)).toBeUndefined();
    chunks.reopen(35);
    expect(chunks.next(5, all)).toEqual({ start: 30, end: 40 });
  });

  test('asks once for the owner of each chunk', () => {
    let asked = 0;
    const chunks = new OwnChunks(100, 10, () => ++asked > 100);
    for (let i = 0; i < 3; i++) {
      chunks.next(10, all);
      chunks.reopen(0);
    }
    expect(asked).toBe(10);
  });
});
