import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseSlowest, ReaderPace } from './slow-readers.ts';

const KiB = 1024;
const reader = (name: string, heldBytes: number, bytesPerMs: number | undefined) => ({
  name,
  heldBytes,
  bytesPerMs,
});
const names = (readers: readonly { name: string }[]) => readers.map(({ name }) => name);

describe('chooseSlowest', () => {
  test('chooses the readers that take the least for what they hold, as many as needed', () => {
    const readers = [
      reader('quick', 512 * KiB, 50),
      reader('drip', 512 * KiB, 0.2),
      reader('slow', 512 * KiB, 20),
      reader('nothing', 512 * KiB, 0),
    ];
    expect(names(chooseSlowest(readers, 1))).toEqual(['nothing']);
    expect(names(chooseSlowest(readers, 512 * KiB + 1))).toEqual(['nothing', 'drip']);
    expect(names(chooseSlowest(readers, 1536 * KiB))).toEqual(['nothing', 'drip', 'slow']);
  });

  test('a slow reader that holds little comes after one as slow that holds much', () => {
    const readers = [reader('small', 40 * KiB, 1), reader('large', 4096 * KiB, 1)];
    expect(names(chooseSlowest(readers, 1))).toEqual(['large']);
  });

  test('of readers that take nothing, the ones that hold most are chosen, so that few resets are needed', () => {
    const waiting = Array.from({ length: 50 }, () => reader('waiting', 32 * KiB, 0));
    const readers = [...waiting, reader('holding', 544 * KiB, 0)];
    expect(names(chooseSlowest(readers, 512 * KiB))).toEqual(['holding']);
  });

  test('never chooses readers that take all they hold in two seconds, or new ones', () => {
    const readers = [
      reader('quick', 512 * KiB, (512 * KiB) / 2000),
      reader('new', 512 * KiB, undefined),
    ];
    expect(chooseSlowest(readers, Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test('chooses no reader while there is no excess', () => {
    expect(chooseSlowest([reader('a', 100, 0)], 0)).toEqual([]);
    expect(chooseSlowest([reader('a', 100, 0)], -5)).toEqual([]);
  });

  test('frees enough if slow readers hold enough, and resets no reader too many', () => {
    const arbitrary = fc.record({
      heldBytes: fc.integer({ min: 1, max: 1e6 }),
      bytesPerMs: fc.option(fc.double({ min: 0, max: 1000, noNaN: true }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(arbitrary), fc.integer({ min: 1, max: 1e7 }), (readers, excess) => {
        const chosen = chooseSlowest(readers, excess);
        const freed = chosen.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
        const last = chosen.at(-1)?.heldBytes ?? 0;
        expect(freed - last).toBeLessThan(excess);
        const slow = readers.filter((r) => (r.bytesPerMs ?? 1e9) * 2000 < r.heldBytes);
        expect(freed >= excess || chosen.length === slow.length).toBe(true);
      }),
    );
  });
});

describe('ReaderPace', () => {
  const UNTAKEN = 512 * KiB;

  test('knows nothing before it has measured twice', () => {
    const pace = new ReaderPace(100, UNTAKEN, 0);
    expect(pace.bytesPerMs).toBeUndefined();
    pace.observe(1100, UNTAKEN, 1000);
    expect(pace.bytesPerMs).toBe(1);
  });

  test('forgets what the kernel took at first within a few measurements', () => {
    const pace = new ReaderPace(0, UNTAKEN, 0);
    pace.observe(2_000_000, UNTAKEN, 1000);
    for (let s = 2; s < 14; s++) pace.observe(2_000_000 + s * 220, UNTAKEN, s * 1000);
    expect(pace.bytesPerMs).toBeLessThan(1);
  });

  test('two measurements at the same moment count as one', () => {
    const pace = new ReaderPace(0, UNTAKEN, 0);
    pace.observe(50, UNTAKEN, 0);
    expect(pace.bytesPerMs).toBeUndefined();
  });

  test('is not known for a reader that has taken all it was handed and waits for more', () => {
    const pace = new ReaderPace(0, 0, 0);
    for (let s = 1; s < 10; s++) pace.observe(0, 0, s * 1000);
    expect(pace.bytesPerMs).toBeUndefined();
    pace.observe(0, UNTAKEN, 9500);
    expect(pace.bytesPerMs).toBe(0);
  });

  test('is next to nothing for a reader that has waited ten seconds for a byte', () => {
    const pace = new ReaderPace(0, UNTAKEN, 0);
    pace.observe(0, 0, 1000);
    pace.observe(1, 0, 8000);
    pace.observe(1, 0, 17_999);
    expect(pace.bytesPerMs).toBeUndefined();
    pace.observe(1, 0, 18_000);
    expect(pace.bytesPerMs).toBeLessThan(1);
  });
});
