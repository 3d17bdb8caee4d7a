/** Downloads from coded shards whose depots die, in simulated time. */

import { expect, test } from '@jest/globals';
import { type Death, downloadFromDying } from '../../../testing/dying-depots.ts';

const MIB = 1024 * 1024;
const slow = { blocks: 48, rates: Array<number>(6).fill(4 * MIB), rttMs: 20, seed: 1 };
/** Depots 0 to 3 have data, 4 and 5 parity; a healthy download takes 3.1 s. */
const death = (depot: number, atMs: number): Death => ({ depot, atMs });

test.each([
  ['data and parity, early', [death(4, 191), death(1, 696)]],
  ['data and parity in the middle', [death(1, 521), death(4, 1637)]],
  ['data and parity, late', [death(3, 2702), death(4, 2343)]],
  ['parity, and data while it is solved', [death(5, 952), death(1, 2273)]],
  ['data twice', [death(0, 1320), death(1, 2764)]],
  ['parity twice', [death(5, 90), death(4, 1314)]],
])('a file in 4+2 shards comes nearly as soon though two depots die: %s', async (_, deaths) => {
  const healthy = await downloadFromDying({ ...slow, deaths: [] });
  const { isRight, ms, receivedBytes } = await downloadFromDying({ ...slow, deaths });
  expect([healthy.isRight, isRight]).toEqual([true, true]);
  expect(ms).toBeLessThan(1.15 * healthy.ms);
  // Blocks that depots had begun when they died come in twice.
  expect(receivedBytes).toBeLessThan(1.06 * healthy.receivedBytes);
});

test('on fast lines too, parity does not rest because one depot with parity has died', async () => {
  const fast = { ...slow, rates: Array<number>(6).fill(40 * MIB), rttMs: 1 };
  const healthy = await downloadFromDying({ ...fast, deaths: [] });
  for (const deaths of [
    [death(5, 97), death(1, 233)],
    [death(3, 25), death(4, 16)],
  ]) {
    const { isRight, ms } = await downloadFromDying({ ...fast, deaths });
    expect(isRight).toBe(true);
    expect(ms).toBeLessThan(1.15 * healthy.ms);
  }
});
