import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../src/base/clock.ts';
import { SimulatedLink } from './simulated-source.ts';
import { VaryingLink } from './varying-link.ts';

const RATE = 1_000_000;

function secondsFor(bytes: number, spread: number, slowdowns: number, seed: number): number {
  const random = seededRandom(seed);
  const link = new VaryingLink({ bytesPerSecond: RATE, random, spread, slowdowns });
  let at = 0;
  for (let sent = 0; sent < bytes; sent += 10_000) at = link.send(10_000, 0);
  return at / 1000;
}

describe('a link whose rate wanders', () => {
  test('is steady without spread and slowdowns', () => {
    const steady = new SimulatedLink(RATE);
    let at = 0;
    for (let sent = 0; sent < 50 * RATE; sent += 10_000) at = steady.send(10_000, 0);
    expect(secondsFor(50 * RATE, 0, 0, 3)).toBeCloseTo(at / 1000, 6);
  });

  test('has its mean rate in the long run, and gives equal results for equal seeds', () => {
    const seed = 7;
    const seconds = secondsFor(2000 * RATE, 0.3, 0, seed);
    expect(seconds).toBe(secondsFor(2000 * RATE, 0.3, 0, seed));
    expect(seconds / 2000).toBeGreaterThan(0.95);
    expect(seconds / 2000).toBeLessThan(1.05);
  });

  test('loses the share of time that slowdowns take', () => {
    // A tenth of all spells have a very low rate.
    const seconds = secondsFor(2000 * RATE, 0, 0.1, 11);
    expect(seconds / 2000).toBeGreaterThan(1.05);
    expect(seconds / 2000).toBeLessThan(1.2);
  });
});
