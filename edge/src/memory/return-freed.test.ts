import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { openTrim, returnFreed } from './return-freed.ts';

const trim = await openTrim();

describe('freed memory', () => {
  test('stays where it is if the library is missing or has no such function', async () => {
    expect(await openTrim(() => Promise.reject(new Error('not installed')))).toBeUndefined();
    const musl = {
      load() {
        throw new Error('no such symbol');
      },
    };
    expect(await openTrim(async () => musl)).toBeUndefined();
    await expect(returnFreed()).resolves.toBeUndefined();
  });

  (trim === undefined ? test.skip : test)(
    'behind which something is in use does not stay resident',
    async () => {
      const { default: koffi } = await import('koffi');
      const libc = koffi.load(null);
      const malloc = libc.func('void *malloc(size_t bytes)');
      const free = libc.func('void free(void *at)');
      const memset = libc.func('void *memset(void *at, int byte, size_t bytes)');
      const resident = () =>
        Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
      const BLOCK = 64 * 1024;
      const blocks = Array.from({ length: 2048 }, () => malloc(BLOCK));
      for (const block of blocks) memset(block, 1, BLOCK);
      const last = malloc(BLOCK);
      for (const block of blocks) free(block);
      const before = resident();
      await returnFreed();
      expect(before - resident()).toBeGreaterThan((blocks.length * BLOCK) / 2);
      free(last);
    },
  );
});
