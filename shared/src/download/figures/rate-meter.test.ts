import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { RateMeter } from './rate-meter.ts';

/** Feeds `bytes` every `ms` for `turns` turns, reading each time; returns the last reading. */
function feed(meter: RateMeter, from: number, bytes: number, ms: number, turns: number): number {
  let rate = 0;
  for (let i = 1; i <= turns; i++) {
    meter.add(bytes);
    rate = meter.bytesPerSecond(from + i * ms);
  }
  return rate;
}

describe('RateMeter', () => {
  test('shows nothing before bytes have come', () => {
    const meter = new RateMeter(1000);
    expect(meter.bytesPerSecond(1000)).toBe(0);
    expect(meter.bytesPerSecond(5000)).toBe(0);
  });

  test('begins with the average so far, not with a slow rise', () => {
    const meter = new RateMeter(0);
    expect(feed(meter, 0, 500, 500, 1)).toBeCloseTo(1000);
    expect(feed(meter, 500, 500, 500, 3)).toBeCloseTo(1000);
  });

  test('the first sample counts only for its share, even early on', () => {
    const meter = new RateMeter(0);
    feed(meter, 0, 500, 500, 1);
    // Over the one second so far, the average is 2000.
    expect(feed(meter, 500, 1500, 500, 1)).toBeGreaterThan(1700);
  });

  test('does not flicker when read too often', () => {
    const meter = new RateMeter(0);
    feed(meter, 0, 1000, 1000, 5);
    meter.add(1_000_000);
    expect(meter.bytesPerSecond(5100)).toBeCloseTo(1000);
    // Bytes that came in meanwhile count at the next reading.
    expect(meter.bytesPerSecond(6000)).toBeGreaterThan(100_000);
  });

  test('follows a change within some seconds', () => {
    const meter = new RateMeter(0);
    feed(meter, 0, 1000, 1000, 30);
    const soon = feed(meter, 30_000, 5000, 1000, 2);
    expect(soon).toBeGreaterThan(2000);
    expect(soon).toBeLessThan(4000);
    expect(feed(meter, 32_000, 5000, 1000, 20)).toBeCloseTo(5000, -2);
  });

  test('falls to almost nothing when no more bytes come', () => {
    const meter = new RateMeter(0);
    feed(meter, 0, 100_000, 1000, 10);
    expect(feed(meter, 10_000, 0, 1000, 60)).toBeLessThan(1);
  });

  test('stays between the slowest and the fastest moment', () => {
    const moments = fc.array(fc.tuple(fc.nat(1e6), fc.integer({ min: 200, max: 5000 })), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(moments, (pieces) => {
        const meter = new RateMeter(0);
        const rates: number[] = [];
        let now = 0;
        for (const [bytes, ms] of pieces) {
          now += ms;
          meter.add(bytes);
          rates.push((bytes * 1000) / ms);
          const shown = meter.bytesPerSecond(now);
          expect(shown).toBeGreaterThanOrEqual(Math.min(...rates) - 1e-6);
          expect(shown).toBeLessThanOrEqual(Math.max(...rates) * (1 + 1e-9));
        }
      }),
    );
  });
});
