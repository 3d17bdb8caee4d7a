/** Waits until a disk that was full has room for the rest of a file. */

import type { Millis } from '@millrace/shared/base/clock';
import { sleep } from '@millrace/shared/node/sleep';
import { roomFor } from './disk-room.ts';
import type { PartialFile } from './partial-file.ts';

/** Interval between checks for free space, in milliseconds. */
const ROOM_POLL_MS = 2000;

/**
 * Waits for room, and flushes the file once there is room.
 *
 * @param waitMs longest wait; undefined: for ever
 * @param now monotonic milliseconds
 * @returns false if the disk still has no room after the longest wait
 * @throws MillraceError if the file cannot be written even though there is room; the signal's
 *   reason
 */
export async function waitForRoom(
  file: PartialFile,
  waitMs: Millis | undefined,
  now: () => Millis,
  signal: AbortSignal,
): Promise<boolean> {
  const giveUpAt = waitMs === undefined ? Number.POSITIVE_INFINITY : now() + waitMs;
  for (;;) {
    if (now() >= giveUpAt) return false;
    await sleep(ROOM_POLL_MS, signal);
    const { needed, free } = await roomFor(file.path, (file.length ?? 0) - file.stored.bytes);
    if (free >= needed) break;
  }
  await file.flush();
  return true;
}
