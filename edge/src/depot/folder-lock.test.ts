import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { lockFolder } from './folder-lock.ts';

const dir = await mkdtemp(join(tmpdir(), 'millrace-lock-'));
afterAll(() => rm(dir, { recursive: true }));

describe('lockFolder', () => {
  test('lets one at a time have the folder, and the next one after it', async () => {
    const first = await lockFolder(dir);
    if (first.gap === undefined) {
      await expect(lockFolder(dir)).rejects.toThrow(/another edge uses the depot in/);
    }
    await first.release();
    await (await lockFolder(dir)).release();
  });

  test('says why others are not kept out if the library is missing', async () => {
    const missing = () => Promise.reject(new Error('not installed'));
    const lock = await lockFolder(dir, missing);
    expect(lock.gap).toBe('koffi cannot be used: not installed');
    await lock.release();
  });

  test('says so too where the file system has no locks', async () => {
    const fake = {
      load: () => ({ func: () => () => -1 }),
      errno: () => 37,
      os: { errno: { EWOULDBLOCK: 11, EAGAIN: 11 } },
    };
    const lock = await lockFolder(dir, async () => fake as never);
    expect(lock.gap).toMatch(/no locks/);
    await lock.release();
  });
});
