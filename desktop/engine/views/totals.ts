/** The figures beside the list: the number of downloads of each kind, and their total speed. */

import { DOWNLOAD_STATUSES, type DownloadStatus } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import type { Manager } from '../downloads/manager.ts';

/** Totals that change only when a download changes its state. */
export type Counts = Pick<Totals, 'byStatus' | 'byCategory' | 'trash'>;

export function countsOf(manager: Manager): Counts {
  const { byState, byCategory } = manager.store.counts();
  const byStatus = Object.fromEntries(
    DOWNLOAD_STATUSES.map((status) => [status, byState.get(status) ?? 0]),
  ) as Record<DownloadStatus, number>;
  for (const { state, category } of manager.unfinished()) {
    byStatus[state]++;
    if (category !== undefined) byCategory.set(category, (byCategory.get(category) ?? 0) + 1);
  }
  return {
    byStatus,
    byCategory: Object.fromEntries(byCategory),
    trash: manager.trash.store.totals(),
  };
}

export function totalsOf(manager: Manager, counts: Counts): Totals {
  let bytesPerSecond = 0;
  const activeBytes = { stored: 0, length: 0 };
  for (const { gid } of manager.queue.active) {
    const progress = manager.running(gid)?.progress();
    if (progress === undefined) continue;
    bytesPerSecond += progress.bytesPerSecond;
    if (progress.length === undefined) continue;
    activeBytes.stored += progress.storedBytes;
    activeBytes.length += progress.length;
  }
  return {
    ...counts,
    bytesPerSecond: Math.round(bytesPerSecond),
    activeBytes,
    limit: manager.settings.limits.limit,
    schedule: scheduleNow(manager),
    whenDone: whenDoneOf(manager),
  };
}

function whenDoneOf({ whenDone: { view } }: Manager): Totals['whenDone'] {
  return view.what === null && view.problem === undefined ? undefined : view;
}

/** Returns the schedule's current effect. */
export function scheduleNow(manager: Manager): Totals['schedule'] {
  const { effect, nextChangeAt } = manager.queueRunner.schedule();
  return {
    now: typeof effect === 'number' ? 'limit' : effect,
    limit: typeof effect === 'number' ? effect : undefined,
    nextChangeAt,
  };
}
