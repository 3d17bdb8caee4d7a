import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_ATTEMPTS, MIN_PREFETCH_RATE, PrefetchPace, PrefetchPlan } from './prefetch-plan.ts';

const CHUNK = 65_536;

describe('PrefetchPlan', () => {
  test('gives each chunk once, the last one short', () => {
    const plan = new PrefetchPlan(2 * CHUNK + 5, CHUNK);
    const chunks = [plan.take(0), plan.take(0), plan.take(0)];
    expect(chunks).toEqual([
      { index: 0, bytes: CHUNK },
      { index: 1, bytes: CHUNK },
      { index: 2, bytes: 5 },
    ]);
    expect(plan.take(0)).toBeUndefined();
    for (const [i, chunk] of chunks.entries()) {
      expect(plan.done).toBe(false);
      if (chunk !== undefined) plan.onChunk(chunk, i > 0);
    }
    expect(plan).toMatchObject({ done: true, doneBytes: 2 * CHUNK + 5, fetchedBytes: CHUNK + 5 });
  });

  test('a failed chunk is requested again after a pause, a few times', () => {
    const plan = new PrefetchPlan(CHUNK, CHUNK);
    let now = 0;
    for (let attempt = 1; ; attempt++) {
      const chunk = plan.take(now);
      if (chunk === undefined) throw new Error('nothing to do');
      const goesOn = plan.onFailed(chunk, now);
      expect(goesOn).toBe(attempt < MAX_ATTEMPTS);
      if (!goesOn) break;
      expect(plan.take(now)).toBeUndefined();
      now = plan.nextDeadline as number;
    }
    expect(now).toBe(500 + 1000 + 2000);
  });
});

test('a plan ends with every byte, whatever fails in between', () => {
  const fates = fc.array(fc.boolean(), { maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20 * CHUNK }), fates, (bytes, fails) => {
      const plan = new PrefetchPlan(bytes, CHUNK);
      let now = 0;
      for (let i = 0; !plan.done; i++) {
        const chunk = plan.take(now);
        if (chunk === undefined) now = plan.nextDeadline as number;
        else if (fails[i] !== true) plan.onChunk(chunk, true);
        else if (!plan.onFailed(chunk, now)) return; // given up
      }
      expect(plan.doneBytes).toBe(bytes);
      expect(plan.take(now)).toBeUndefined();
    }),
  );
});

describe('PrefetchPace', () => {
  /**
   * Returns the number of bytes that are requested within 10 s, with clients that get `clientRate`
   * bytes/s together.
   */
  function begun(transfers: number, clientRate: number): number {
    const pace = new PrefetchPace();
    let bytes = 0;
    for (let now = 0; now <= 10_000; now += 50) {
      pace.onClients(transfers, (clientRate * now) / 1000, now);
      while (pace.mayStart(transfers) && bytes < 1e9) {
        pace.onStart(CHUNK, transfers);
        bytes += CHUNK;
      }
    }
    return bytes;
  }

  test('alone it runs at full speed', () => {
    expect(begun(0, 0)).toBe(Math.ceil(1e9 / CHUNK) * CHUNK);
  });

  test.each([
    [1, 10e6],
    [4, 10e6],
    [10, 100e6],
  ])('beside %d transfers with %d bytes/s it gets as much as one of them', (transfers, rate) => {
    const share = (10 * rate) / transfers;
    expect(begun(transfers, rate)).toBeGreaterThan(share * 0.95);
    // Plus the saved credit and one chunk of debt.
    expect(begun(transfers, rate)).toBeLessThan(share * 1.15 + 2 * CHUNK);
  });

  test('it makes progress even while clients get nothing', () => {
    const least = 10 * MIN_PREFETCH_RATE;
    expect(begun(5, 0)).toBeGreaterThanOrEqual(least * 0.95);
    expect(begun(5, 0)).toBeLessThan(least * 1.2);
  });
});
