import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../base/clock.ts';
import { pickReplica, replicationFactor } from './replicas.ts';

const MB = 1_000_000;

describe('replicationFactor', () => {
  test.each([
    [1, MB, 10 * MB, 1],
    [60, MB, 60 * MB, 1],
    [60, MB, 10 * MB, 6],
    [60, MB, 5 * MB, 12],
    [120, MB, 10 * MB, 12],
    [120, MB, 16 * MB, 8],
    [100_000, MB, MB, 12],
    [2, 1, 1000 * MB, 1],
  ])('%d peers, chunks of %d bytes, %d bytes for a client: %d', (peers, chunk, memory, factor) => {
    expect(replicationFactor(peers, chunk, memory)).toBe(factor);
  });

  test('is a whole number from 1 to 12 that grows with the peers', () => {
    const bytes = fc.integer({ min: 1, max: 2 ** 40 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), bytes, bytes, (peers, chunk, memory) => {
        const factor = replicationFactor(peers, chunk, memory);
        expect(Number.isInteger(factor)).toBe(true);
        expect(factor).toBeGreaterThanOrEqual(1);
        expect(factor).toBeLessThanOrEqual(12);
        expect(replicationFactor(peers + 1, chunk, memory)).toBeGreaterThanOrEqual(factor);
      }),
    );
  });
});

describe('pickReplica', () => {
  test('picks one of those with the least load', () => {
    const loads = fc.array(fc.nat(3), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(loads, fc.integer(), (all, seed) => {
        const replicas = all.map((load) => ({ load }));
        const picked = pickReplica(replicas, seededRandom(seed));
        expect(replicas).toContain(picked);
        expect(picked.load).toBe(Math.min(...all));
      }),
    );
  });

  test('equally busy replicas get equally many requests', () => {
    const random = seededRandom(1);
    const replicas = [3, 1, 1, 2, 1, 1].map((load) => ({ load, requests: 0 }));
    for (let i = 0; i < 4000; i++) pickReplica(replicas, random).requests++;
    for (const { load, requests } of replicas) {
      if (load > 1) expect(requests).toBe(0);
      else expect(Math.abs(requests - 1000)).toBeLessThan(100);
    }
  });

  test.each([0, 1 - 2 ** -53])('picks one even if the random number is extreme: %d', (value) => {
    const replicas = [{ load: 0 }, { load: 0 }];
    expect(replicas).toContain(pickReplica(replicas, () => value));
  });
});
