import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CongestionWindow, firstWindow } from './window.ts';

describe('firstWindow', () => {
  test.each([
    [64, 4],
    [256, 4],
    [512, 2],
    [1024, 2],
    [16_384, 2],
  ])('of chunks of %d KiB: %d', (kib, chunks) => {
    expect(firstWindow(kib * 1024)).toBe(chunks);
  });
});

describe('CongestionWindow', () => {
  test('starts with the given size, within its bounds', () => {
    expect(new CongestionWindow({ max: 16, initial: 10 }).size).toBe(10);
    expect(new CongestionWindow({ max: 16, initial: 0 }).size).toBe(1);
    expect(new CongestionWindow({ max: 16, initial: 99 }).size).toBe(16);
    expect(new CongestionWindow({ max: 2, initial: 4 }).size).toBe(2);
    expect(new CongestionWindow({ max: 0.25, initial: 4 }).size).toBe(1);
  });

  test('opens to the given size for chunks in memory, and never shrinks for them', () => {
    const window = new CongestionWindow({ max: 6, initial: 2 });
    window.onLocalChunk(4);
    expect(window.size).toBe(4);
    window.onLocalChunk(3);
    expect(window.size).toBe(4);
    window.onLocalChunk(9);
    expect(window.size).toBe(6);
  });

  test('does not open for chunks in memory once it has shrunk', () => {
    const window = new CongestionWindow({ max: 6, initial: 2 });
    window.onFirstAttemptKilled();
    window.onLocalChunk(4);
    expect(window.size).toBe(1);
  });

  test.each([
    [1, 2],
    [1.9, 2.9],
    [2, 2 + 1 / Math.log(2)],
    [4, 4 + 1 / Math.log(4)],
    [50, 50 + 1 / Math.log(50)],
  ])('grows from %d to %d with a fast chunk', (before, after) => {
    const window = new CongestionWindow({ max: 100, initial: before });
    window.onFastChunk();
    expect(window.size).toBeCloseTo(after, 10);
  });

  test('shrinks by one chunk when a first attempt is killed, never below one', () => {
    const window = new CongestionWindow({ max: 100, initial: 3.5 });
    window.onFirstAttemptKilled();
    expect(window.size).toBe(2.5);
    window.onFirstAttemptKilled();
    window.onFirstAttemptKilled();
    expect(window.size).toBe(1);
    expect(window.limit).toBe(1);
  });

  test('lets only whole chunks begin', () => {
    expect(new CongestionWindow({ max: 100, initial: 5.99 }).limit).toBe(5);
  });

  test('stays within its bounds, whatever happens, and moves the right way', () => {
    const events = fc.array(fc.boolean(), { maxLength: 300 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(70), events, (max, initial, fast) => {
        const window = new CongestionWindow({ max, initial });
        for (const grow of fast) {
          const before = window.size;
          if (grow) window.onFastChunk();
          else window.onFirstAttemptKilled();
          if (grow && before < max) expect(window.size).toBeGreaterThan(before);
          if (!grow && before > 1) expect(window.size).toBeLessThan(before);
          expect(window.size).toBeGreaterThanOrEqual(1);
          expect(window.size).toBeLessThanOrEqual(max);
          expect(window.limit).toBe(Math.floor(window.size));
        }
      }),
    );
  });

  test('grows more slowly the larger it is', () => {
    const window = new CongestionWindow({ max: 1000, initial: 2 });
    let last = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 500; i++) {
      const before = window.size;
      window.onFastChunk();
      expect(window.size - before).toBeLessThanOrEqual(last);
      last = window.size - before;
    }
  });
});
