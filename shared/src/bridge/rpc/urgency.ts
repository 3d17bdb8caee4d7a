/** Order of lists that have no room for every download: what the user may act on comes first. */

import type { DownloadStatus } from './daemon-api.ts';

/** Rank of each status, from 0: running, waiting, failed, all others. */
const RANKS = {
  active: 0,
  queued: 1,
  waiting: 1,
  error: 2,
  paused: 3,
  complete: 3,
  removed: 3,
} as const satisfies Record<DownloadStatus, number>;

/** Distance between two ranks: more than any time in milliseconds that a list holds. */
const RANK_STEP = 1e15;

interface Ranked {
  readonly status: DownloadStatus;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** Returns the number by which downloads are sorted, lowest first: by rank, then newest first. */
export function urgency({ status, createdAt }: Ranked): number {
  return RANKS[status] * RANK_STEP - createdAt;
}

/** Returns the most urgent downloads of a list, in order. */
export function mostUrgent<T extends Ranked>(downloads: readonly T[], limit: number): readonly T[] {
  return downloads.toSorted((a, b) => urgency(a) - urgency(b)).slice(0, limit);
}
