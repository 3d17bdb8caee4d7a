import { expect, test } from '@jest/globals';
import type { Totals as DaemonTotals } from '@millrace/shared/bridge/rpc/list-api';
import { NOTHING, totalsOf } from './totals.ts';

const none = { active: 0, queued: 0, waiting: 0, paused: 0, complete: 9, error: 1, removed: 2 };

function told(
  byStatus: Partial<DaemonTotals['byStatus']>,
  bytesPerSecond = 0,
  [stored, length] = [0, 0],
): DaemonTotals {
  return {
    byStatus: { ...none, ...byStatus },
    byCategory: {},
    bytesPerSecond,
    activeBytes: { stored, length },
    trash: { count: 0, bytes: 0 },
    schedule: { now: 'free' },
  };
}

test('paused and ended downloads count for nothing', () => {
  expect(totalsOf(told({ paused: 3 }))).toEqual(NOTHING);
});

test('counts running and waiting downloads, and gives their share and time left', () => {
  expect(totalsOf(told({ active: 3, queued: 2, waiting: 1 }, 250, [2000, 4000]))).toEqual({
    active: 3,
    waiting: 3,
    bytesPerSecond: 250,
    share: 0.5,
    etaMs: 8000,
  });
});

test('without lengths there is no share, and without speed no time left', () => {
  expect(totalsOf(told({ active: 1 }, 50))).toMatchObject({ share: undefined, etaMs: undefined });
  expect(totalsOf(told({ active: 1 }, 0, [1, 4]))).toMatchObject({ share: 0.25, etaMs: undefined });
});

test('more stored bytes than the length count as the whole length', () => {
  expect(totalsOf(told({ active: 1 }, 10, [9, 4]))).toMatchObject({ share: 1, etaMs: 0 });
});
