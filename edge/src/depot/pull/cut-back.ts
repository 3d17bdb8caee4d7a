/** Removes bytes from the end of an incomplete upload: those of a pull that turn out to be doubtful. */

import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { MillraceError } from '@millrace/shared/base/errors';
import { RECORD_BYTES, readSum } from '@millrace/shared/cdn/depot/sums';
import type { Allocation } from '../allocation.ts';
import { openBoth } from '../allocation-disk.ts';

/**
 * Removes the bytes behind an offset, and those before it that share a segment with them. The caller
 * has the turn at the upload. The sums go first: they say what a restart finds.
 *
 * @throws MillraceError `allocation-damaged`; errors of the disk
 */
export async function cutBack(allocation: Allocation, offset: number): Promise<void> {
  const [data, sums] = await openBoth(allocation.folder, 'r+');
  try {
    const { count, end } = await lastWithin(sums, allocation.sums, offset);
    await sums.truncate(count * RECORD_BYTES);
    await sums.sync();
    allocation.sums = count;
    allocation.offset = end;
    await data.truncate(end);
  } finally {
    allocation.mendHash();
    await data.close();
    await sums.close();
  }
}

/** Finds the records whose bytes end at an offset or before it. @param all number of records */
async function lastWithin(
  sums: FileHandle,
  all: number,
  offset: number,
): Promise<{ count: number; end: number }> {
  let [low, high] = [0, all];
  let end = 0;
  while (low < high) {
    const middle = (low + high) >> 1;
    const record = Buffer.alloc(RECORD_BYTES);
    await sums.read(record, 0, RECORD_BYTES, middle * RECORD_BYTES);
    const sum = readSum(record, 0, crc32);
    if (sum === undefined) {
      throw new MillraceError('allocation-damaged', 'the file of sums is damaged');
    }
    if (sum.end > offset) high = middle;
    else [low, end] = [middle + 1, sum.end];
  }
  return { count: low, end };
}
