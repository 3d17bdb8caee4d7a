/** Removals and the trash. */

import * as z from 'zod';
import { status } from './download-results.ts';
import { count, gid, named, time } from './named.ts';

const undo = z
  .string()
  .optional()
  .describe('For `millrace.undoRemove`; absent if it was for good.');

export const removed = named('Removed', 'Downloads that were removed.', {
  gids: z.array(gid),
  undo,
});
export const forgotten = named('Forgotten', 'Number of downloads that left the history.', {
  count,
  undo,
});

export const removalSummary = named(
  'RemovalSummary',
  'Downloads and data that a removal would delete.',
  {
    count,
    unfinished: count.describe('Unfinished downloads, and failed ones with data.'),
    partialBytes: count.describe('Bytes that unfinished ones have so far.'),
    complete: count,
    fileBytes: count.describe('Bytes of the files of complete ones.'),
  },
);

export const trashItem = named('TrashItem', 'A removed download.', {
  gid,
  name: z.string(),
  status: status.describe('State before its removal.'),
  kept: z
    .enum(['partial', 'file', 'entry'])
    .describe('Kept part: its partial data, its file, or the entry alone.'),
  bytes: count.describe('Bytes on disk that are kept.'),
  length: count.optional().describe('Bytes of the whole file.'),
  host: z.string(),
  removedAt: time,
  expiresAt: time.describe('When it is deleted for good, Unix milliseconds.'),
});
export const trashPage = named('TrashPage', 'A page of the trash, newest first.', {
  total: count,
  bytes: count.describe('Bytes on disk, over all.'),
  items: z.array(trashItem),
});
export const emptied = named('Emptied', 'Downloads that were deleted for good.', {
  count,
  bytes: count.describe('Bytes that are free again.'),
});
