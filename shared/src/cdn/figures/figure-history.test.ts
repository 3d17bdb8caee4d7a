import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FigureHistory, mergeSteps, stepsSince } from './figure-history.ts';

const STEP = 1000;

function history(...samples: readonly (readonly [now: number, total: number])[]) {
  const figures = new FigureHistory(['n'], STEP, 4);
  for (const [now, n] of samples) figures.record({ n }, now);
  return figures.read();
}

describe('FigureHistory', () => {
  test('is empty before the first sample, which is the baseline', () => {
    expect(history().series).toEqual({ n: [] });
    expect(history([5000, 70]).series).toEqual({ n: [0] });
  });

  test('gives the growth in each step, and 0 for missed steps', () => {
    expect(history([5000, 70], [5500, 71], [6100, 75], [8900, 80])).toEqual({
      stepMs: STEP,
      first: 5,
      series: { n: [1, 4, 0, 5] },
    });
  });

  test('keeps the latest steps only', () => {
    expect(history([0, 0], [1000, 1], [2000, 3], [3000, 6], [4000, 10])).toMatchObject({
      first: 1,
      series: { n: [1, 2, 3, 4] },
    });
    expect(history([0, 0], [1000, 1], [99_000, 8])).toMatchObject({
      first: 96,
      series: { n: [0, 0, 0, 7] },
    });
  });

  test('adds to the latest step when the clock is set back, without negative growth', () => {
    expect(history([5000, 0], [6000, 2], [3000, 5], [7000, 4]).series).toEqual({ n: [0, 5, 0] });
  });

  test('loses no growth within the time that it keeps', () => {
    const growths = fc.array(fc.tuple(fc.nat(900), fc.nat(50)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(growths, (steps) => {
        const figures = new FigureHistory(['n'], STEP, 8);
        let [now, n] = [1e9, 3];
        figures.record({ n }, now);
        for (const [ms, more] of steps) {
          now += ms;
          n += more;
          figures.record({ n }, now);
        }
        const sum = figures.read().series.n?.reduce((total, value) => total + value, 0);
        expect(sum).toBe(n - 3);
      }),
    );
  });
});

describe('mergeSteps', () => {
  test('adds up step by step, even if processes began at different times', () => {
    const early = history([5000, 0], [5100, 1], [6100, 3], [7100, 6]);
    const late = history([6000, 0], [6500, 10], [7500, 30]);
    expect(mergeSteps([early, late, history()])).toEqual({
      stepMs: STEP,
      first: 5,
      series: { n: [1, 12, 23] },
    });
  });

  test('is undefined without processes, and empty if none has begun', () => {
    expect(mergeSteps([])).toBeUndefined();
    expect(mergeSteps([history()])?.series).toEqual({ n: [] });
  });
});

describe('stepsSince', () => {
  test('leaves out earlier steps', () => {
    const steps = history([5000, 0], [6000, 1], [7000, 3]);
    expect(stepsSince(steps, 6)).toMatchObject({ first: 6, series: { n: [1, 2] } });
    expect(stepsSince(steps, 0)).toEqual(steps);
    expect(stepsSince(steps, 99).series).toEqual({ n: [] });
  });
});
