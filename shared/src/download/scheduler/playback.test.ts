import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Playback } from './playback.ts';

/** Readers named by letters, opened in order at the positions given. */
function playback(...readers: [name: string, position: number, at: number][]) {
  const logic = new Playback();
  const keys = new Map<string, object>();
  for (const [name, position, at] of readers) {
    const key = {};
    keys.set(name, key);
    logic.opened(key, position, at);
  }
  return { logic, key: (name: string) => keys.get(name) as object };
}

describe('playback', () => {
  test('without readers no position is preferred', () => {
    const { logic, key } = playback(['a', 7, 0]);
    expect(logic.preferred()).toBe(7);
    logic.closed(key('a'));
    expect(logic.preferred()).toBeUndefined();
    expect(logic.readers).toBe(0);
  });

  test('the preferred position follows a reader', () => {
    const { logic, key } = playback(['a', 0, 0]);
    logic.waits(key('a'), 0);
    logic.advanced(key('a'), 4096);
    expect(logic.preferred()).toBe(4096);
  });

  test('a seek comes first at once, whatever other readers wait for', () => {
    const { logic, key } = playback(['header', 0, 0]);
    logic.waits(key('header'), 0);
    const seek = {};
    logic.opened(seek, 900, 60_000);
    logic.waits(seek, 60_000);
    expect(logic.preferred()).toBe(900);
  });

  test('a reader that waits is preferred to a later one that does not', () => {
    const { logic, key } = playback(['old', 100, 0], ['new', 900, 0]);
    logic.waits(key('old'), 10);
    expect(logic.preferred()).toBe(100);
    logic.waits(key('new'), 20);
    expect(logic.preferred()).toBe(900);
  });

  test('an earlier reader has its turn once it has waited two seconds longer', () => {
    const { logic, key } = playback(['old', 100, 0], ['new', 900, 0]);
    logic.waits(key('old'), 0);
    logic.waits(key('new'), 1999);
    expect(logic.preferred()).toBe(900);
    logic.advanced(key('new'), 950);
    logic.waits(key('new'), 2001);
    expect(logic.preferred()).toBe(100);
    logic.advanced(key('old'), 150);
    logic.waits(key('old'), 2100);
    expect(logic.preferred()).toBe(950);
  });

  test('the earlier reader that has waited longest is next', () => {
    const { logic, key } = playback(['a', 1, 0], ['b', 2, 0], ['c', 3, 0]);
    logic.waits(key('b'), 5);
    logic.waits(key('a'), 6);
    expect(logic.preferred()).toBe(2);
  });

  test('two calls of waits() are still one wait', () => {
    const { logic, key } = playback(['old', 100, 0], ['new', 900, 0]);
    logic.waits(key('old'), 0);
    logic.waits(key('old'), 2000);
    logic.waits(key('new'), 2001);
    expect(logic.preferred()).toBe(100);
  });

  test('when the latest reader is gone, the one before it is the latest', () => {
    const { logic, key } = playback(['old', 100, 0], ['new', 900, 0]);
    logic.waits(key('old'), 0);
    logic.waits(key('new'), 0);
    logic.closed(key('new'));
    expect(logic.preferred()).toBe(100);
  });

  test('a call for a reader that is not open throws', () => {
    const { logic, key } = playback(['a', 0, 0]);
    logic.closed(key('a'));
    expect(() => logic.waits(key('a'), 0)).toThrow(/not a reader/);
    expect(() => logic.advanced({}, 0)).toThrow(/not a reader/);
  });

  test('no reader starves, even if all always want more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 6 }),
        fc.integer({ min: 20, max: 3000 }),
        (count, blockMs) => {
          // Every `blockMs` one block arrives for the preferred reader.
          const logic = new Playback();
          let longest = 0;
          const readers = Array.from({ length: count }, (_, i) => ({ at: i * 1000, servedAt: 0 }));
          for (const reader of readers) logic.opened(reader, reader.at, 0);
          for (const reader of readers) logic.waits(reader, 0);
          for (let now = blockMs; now <= 400 * blockMs; now += blockMs) {
            const served = readers.find(({ at }) => at === logic.preferred());
            if (served === undefined)
              throw new Error('the preferred position belongs to no reader');
            served.at += 1;
            served.servedAt = now;
            logic.advanced(served, served.at);
            logic.waits(served, now);
            longest = Math.max(longest, ...readers.map(({ servedAt }) => now - servedAt));
          }
          expect(longest).toBeLessThanOrEqual(2000 + count * blockMs);
        },
      ),
    );
  });
});
