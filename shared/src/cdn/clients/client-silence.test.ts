import { describe, expect, test } from '@jest/globals';
import { testSeed } from '../../../node/testing/test-seed.ts';
import { WatchedLine } from '../../../testing/crowded-line.ts';
import { LONGEST_SILENCE_MS } from './client-silence.ts';

const SEED = testSeed('silence of clients', 2);

/** The line of ANYCAST figure 8, and one with room for all. */
const CROWDED = { seed: SEED, mbit: 50, rttMs: 20, queue: 600, spreadMs: 5000 };
const WIDE = { seed: SEED, mbit: 1000, rttMs: 50, queue: 4000, spreadMs: 5000 };

describe('a line that a thousand clients fill', () => {
  test('makes hardly any of them count as vanished', () => {
    const stage = new WatchedLine({ ...CROWDED, clients: 1000 });
    stage.pass(15_000);
    const { spurious, line } = stage;
    const isGood = spurious <= 2 && line.delivered > 50_000;
    expect({ seed: SEED, spurious, isGood }).toMatchObject({ isGood: true });
  });

  test('keeps those that vanish from being found for a minute, and no longer', () => {
    const stage = new WatchedLine({ ...CROWDED, clients: 300, mbit: 15, queue: 200 });
    stage.pass(8000);
    stage.vanish(5);
    stage.pass(LONGEST_SILENCE_MS + 2000);
    const { foundMs } = stage;
    expect({ seed: SEED, found: foundMs.length }).toEqual({ seed: SEED, found: 5 });
  });

  test('is told from one that is cut: all clients of that are found soon', () => {
    const stage = new WatchedLine({ ...CROWDED, clients: 300, mbit: 15, queue: 200 });
    stage.pass(8000);
    stage.vanish(300);
    stage.pass(5000);
    const found = stage.foundMs.length;
    // A few that were silent before have timeouts that last longer.
    expect({ seed: SEED, found, isGood: found >= 270 }).toMatchObject({ isGood: true });
  });
});

test('on a line with room, clients that vanish are found after two timeouts', () => {
  const stage = new WatchedLine({ ...WIDE, clients: 20 });
  stage.pass(8000);
  stage.vanish(10);
  stage.pass(3000);
  const { foundMs, spurious } = stage;
  const isGood = foundMs.length === 10 && spurious === 0;
  expect({ seed: SEED, foundMs, spurious, isGood }).toMatchObject({ isGood: true });
});
