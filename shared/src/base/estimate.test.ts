import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Estimate } from './estimate.ts';

function after(...samples: number[]): Estimate {
  const estimate = new Estimate();
  for (const sample of samples) estimate.add(sample);
  return estimate;
}

describe('Estimate', () => {
  test('knows nothing before the first sample', () => {
    const estimate = after();
    expect([estimate.samples, estimate.mean, estimate.deviation]).toEqual([0, 0, 0]);
  });

  test('takes the first sample as the mean, and half of it as the deviation', () => {
    const estimate = after(100);
    expect([estimate.samples, estimate.mean, estimate.deviation]).toEqual([1, 100, 50]);
  });

  test('moves by an eighth, and the deviation by a quarter, as RFC 6298 says', () => {
    const estimate = after(100, 180);
    // Deviation first, from the old mean: 3/4 * 50 + 1/4 * |100 - 180|.
    expect(estimate.deviation).toBeCloseTo(57.5);
    expect(estimate.mean).toBeCloseTo(110);
  });

  test('counts negative samples, as from a clock that jumped, as 0', () => {
    expect(after(-50).mean).toBe(0);
    expect(after(80, -1000).mean).toBe(after(80, 0).mean);
  });

  test('settles on a value that stays', () => {
    const estimate = after(1000, ...new Array<number>(200).fill(10));
    expect(estimate.mean).toBeCloseTo(10, 3);
    expect(estimate.deviation).toBeCloseTo(0, 3);
  });

  test('the mean stays between the samples, the deviation between 0 and their spread', () => {
    const samples = fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 1 });
    fc.assert(
      fc.property(samples, (values) => {
        const estimate = after(...values);
        const [low, high] = [Math.min(...values), Math.max(...values)];
        expect(estimate.samples).toBe(values.length);
        expect(estimate.mean).toBeGreaterThanOrEqual(low - 1e-6);
        expect(estimate.mean).toBeLessThanOrEqual(high + 1e-6);
        expect(estimate.deviation).toBeGreaterThanOrEqual(0);
        expect(estimate.deviation).toBeLessThanOrEqual(Math.max(high - low, high / 2) + 1e-6);
      }),
    );
  });
});
