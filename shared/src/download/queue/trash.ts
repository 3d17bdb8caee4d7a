/** Rules of the trash: removed downloads and their data are kept for a time and up to a size. */

import type { Millis } from '../../base/clock.ts';

/** One removed download. */
export interface TrashEntry {
  readonly gid: string;
  /** Batch of the removal: downloads that were removed together are restored together. */
  readonly batch: string;
  /** When it was removed, Unix milliseconds. */
  readonly removedAt: Millis;
  /** Bytes that it takes on disk. */
  readonly bytes: number;
}

export interface TrashLimits {
  /** Days that a removed download is kept; 0: nothing is kept. */
  readonly days: number;
  /** Most bytes on disk, over all entries. */
  readonly maxBytes: number;
}

export const DEFAULT_TRASH: TrashLimits = { days: 7, maxBytes: 20 * 1024 ** 3 };
export const MAX_TRASH_DAYS = 365;
/** Most entries; the oldest are deleted for good first. */
export const MAX_TRASH_ENTRIES = 20_000;
const DAY_MS = 24 * 3600_000;

/** Returns when an entry is deleted for good, Unix milliseconds. */
export function expiresAt({ removedAt }: Pick<TrashEntry, 'removedAt'>, days: number): Millis {
  return removedAt + days * DAY_MS;
}

/**
 * Decides which entries are deleted for good: expired entries, then the oldest ones until the rest
 * fits. The last batch is kept whole, however large: otherwise a large removal could not be undone
 * at all.
 *
 * @param entries oldest first
 * @returns the gids of these entries, expired ones first
 */
export function beyondKeeping(
  entries: readonly TrashEntry[],
  { days, maxBytes }: TrashLimits,
  now: Millis,
): string[] {
  // An entry from the future was noted while the clock was wrong; it expires by the present clock.
  const isOver = (entry: TrashEntry) => expiresAt(entry, days) <= now;
  const over = entries.filter(isOver).map(({ gid }) => gid);
  const rest = entries.filter((entry) => !isOver(entry));
  const last = rest[rest.length - 1]?.batch;
  let bytes = rest.reduce((sum, entry) => sum + entry.bytes, 0);
  let count = rest.length;
  for (const entry of rest) {
    if ((bytes <= maxBytes && count <= MAX_TRASH_ENTRIES) || entry.batch === last) break;
    over.push(entry.gid);
    bytes -= entry.bytes;
    count--;
  }
  return over;
}
