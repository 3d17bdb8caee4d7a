import { describe, expect, test } from '@jest/globals';
import { isHedgeJustified } from './hedge.ts';

const LATE_MS = 500;
const MiB = 1024 * 1024;

describe('isHedgeJustified', () => {
  test.each([
    ['not late yet, nothing received', 499, 499, 0, false],
    ['late, nothing received', 500, 500, 0, true],
    ['late, stalled in the middle', 2000, 500, MiB / 2, true],
    [
      'late, half received, still arriving: the rest comes as soon as a new one could',
      500,
      1,
      MiB / 2,
      false,
    ],
    ['late, nothing received, but alive', 1999, 499, 0, false],
    ['very late, nothing received, but alive', 2000, 1, 0, true],
    ['late, a trickle: a new one would be sooner', 1000, 10, MiB / 16, true],
    ['late, everything but the end received', 5000, 10, MiB - 1000, false],
    ['late, slow, most still to come', 5000, 10, MiB / 2, true],
  ])('%s', (_, elapsedMs, idleMs, receivedBytes, expected) => {
    const progress = { elapsedMs, idleMs, receivedBytes, totalBytes: MiB, patience: 1 };
    expect(isHedgeJustified(progress, LATE_MS)).toBe(expected);
  });

  test.each([
    ['stalled', 500, MiB / 2, true],
    ['slow, as all may be', 499, MiB / 2, false],
    ['the rest would take eight times too long', 499, MiB / 5 - 1, true],
    ['almost as slow', 499, MiB / 5 + 1, false],
  ])('where another would go the same way: %s', (_, idleMs, receivedBytes, expected) => {
    const progress = { elapsedMs: 1000, idleMs, receivedBytes, totalBytes: MiB, patience: 8 };
    expect(isHedgeJustified(progress, LATE_MS)).toBe(expected);
  });
});
