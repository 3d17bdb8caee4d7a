import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { freeBytes, reportedFreeBytes } from './free-space.ts';

test.each([
  [4096n, 100n, 50n, 204_800],
  [4096n, 100n, 0n, 0],
  [1_048_576n, 2n ** 40n, 2n ** 40n, 2 ** 60],
  [4096n, 0n, 0n, undefined],
  [0n, 100n, 50n, undefined],
  [4096n, 100n, 101n, undefined],
  [4096n, 100n, -1n, undefined],
])('blocks of %s bytes, %s in all, %s free: %s', (bsize, blocks, bavail, free) => {
  expect(reportedFreeBytes({ bsize, blocks, bavail })).toBe(free);
});

test('a file that does not exist yet has the room of the nearest folder', async () => {
  const { blocks, bsize } = await statfs(tmpdir());
  const free = await freeBytes(join(tmpdir(), 'no', 'such', 'folder', 'file'));
  expect(free).toBeGreaterThanOrEqual(0);
  expect(free).toBeLessThanOrEqual(blocks * bsize);
  expect(await freeBytes('\0')).toBeUndefined();
});
