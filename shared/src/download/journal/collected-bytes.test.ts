import { describe, expect, test } from '@jest/globals';
import { testSeed } from '../../../node/testing/test-seed.ts';
import { seededRandom } from '../../base/clock.ts';
import { COLLECT_AT_LEAST_MS, CollectedBytes, MAX_COLLECTED_BYTES } from './collected-bytes.ts';

const KIB = 1024;

describe('CollectedBytes', () => {
  test('requests no write while there is room', () => {
    const collected = new CollectedBytes<string>();
    expect(collected.add('a', MAX_COLLECTED_BYTES - 1, 0)).toEqual([]);
    expect(collected.add('b', 1, 1000)).toEqual([]);
    expect(collected.bytes).toBe(MAX_COLLECTED_BYTES);
  });

  test('requests that the largest collection is written, so that writes stay few', () => {
    const collected = new CollectedBytes<string>();
    collected.add('a', 30 * KIB, 0);
    collected.add('b', 200 * KIB, 0);
    expect(collected.add('a', 30 * KIB, COLLECT_AT_LEAST_MS)).toEqual(['b']);
    expect(collected.bytes).toBe(60 * KIB);
  });

  test('leaves young collections alone: on a fast line they soon become whole segments', () => {
    const collected = new CollectedBytes<string>();
    collected.add('old', 10 * KIB, 0);
    collected.add('young', 400 * KIB, 1);
    expect(collected.add('young', 1, COLLECT_AT_LEAST_MS)).toEqual(['old']);
    expect(collected.bytes).toBe(400 * KIB + 1);
    expect(collected.add('young', 1, COLLECT_AT_LEAST_MS + 1)).toEqual(['young']);
    expect(collected.bytes).toBe(0);
  });

  test('counts bytes that are written for another reason as taken', () => {
    const collected = new CollectedBytes<string>();
    collected.add('a', 200 * KIB, 0);
    collected.take('a');
    collected.take('a');
    expect(collected.bytes).toBe(0);
    // The next collection of the same connection is young again.
    collected.add('a', 200 * KIB, 100);
    expect(collected.add('b', 100 * KIB, 100 + COLLECT_AT_LEAST_MS - 1)).toEqual([]);
    expect(collected.add('b', 1, 100 + COLLECT_AT_LEAST_MS)).toEqual(['a']);
  });

  test('never keeps more than the bound and the last milliseconds, with any number of connections', () => {
    const seed = testSeed('collected bytes');
    const random = seededRandom(seed);
    for (const connections of [1, 2, 8, 64]) {
      const collected = new CollectedBytes<number>();
      const arrived: { at: number; bytes: number }[] = [];
      for (let now = 0; now < 500; now += random() * 3) {
        const bytes = 1 + Math.floor(random() * 64 * KIB);
        arrived.push({ at: now, bytes });
        collected.add(Math.floor(random() * connections), bytes, now);
        const young = arrived
          .filter(({ at }) => now - at < COLLECT_AT_LEAST_MS)
          .reduce((sum, piece) => sum + piece.bytes, 0);
        const over = Math.max(0, collected.bytes - MAX_COLLECTED_BYTES - young);
        expect({ seed, connections, over }).toEqual({ seed, connections, over: 0 });
      }
    }
  });
});
