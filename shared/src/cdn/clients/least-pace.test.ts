import { describe, expect, test } from '@jest/globals';
import { LeastPace } from './least-pace.ts';

const KIB = 1024;
const pace = () => new LeastPace(16 * KIB, 30_000);

/** Sends bytes at a rate until the client is too slow. @returns seconds until then, at most 1000 */
function secondsAt(bytesPerSecond: number): number {
  const client = pace();
  for (let second = 0; second < 1000; second++) {
    if (client.leftMs < 1000) return second;
    client.came(bytesPerSecond, 1000);
  }
  return 1000;
}

describe('LeastPace', () => {
  test('a client at the least pace is never too slow, one below it is at some time', () => {
    expect(secondsAt(16 * KIB)).toBe(1000);
    expect(secondsAt(17 * KIB)).toBe(1000);
    expect(secondsAt(8 * KIB)).toBeLessThanOrEqual(60);
    expect(secondsAt(1)).toBeLessThanOrEqual(30);
  });

  test('a fast client may pause for the allowance, and earns no longer pause', () => {
    const client = pace();
    client.came(100 * 1024 * KIB, 1000);
    expect(client.leftMs).toBe(30_000);
    client.came(0, 29_000);
    expect(client.leftMs).toBe(1000);
    client.came(16 * KIB, 1000);
    expect(client.leftMs).toBe(1000);
  });

  test('bytes that come without a wait use nothing up', () => {
    const client = pace();
    for (let i = 0; i < 1000; i++) client.came(1, 0);
    expect(client.leftMs).toBe(30_000);
  });
});
