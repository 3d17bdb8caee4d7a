import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { makeFolder } from './file-steps.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('makeFolder', () => {
  test('makes all missing folders, and leaves existing ones', async () => {
    const path = join(folder, 'a', 'b', 'c');
    await Promise.all([makeFolder(path), makeFolder(path), makeFolder(join(folder, 'a', 'd'))]);
    expect((await stat(path)).isDirectory()).toBe(true);
    await makeFolder(path);
  });

  test.each([[['file']], [['file', 'x']], [['file', 'x', 'y']]])(
    'a file in place of a folder is reported: %j',
    async (names) => {
      await writeFile(join(folder, 'file'), 'x');
      await expect(makeFolder(join(folder, ...names))).rejects.toMatchObject({ code: 'ENOTDIR' });
    },
  );

  test('a system that refuses new folders does not cause an endless loop', async () => {
    // Without /proc, only root could make a folder of that name.
    const known = (await stat('/proc/self').catch(() => undefined)) !== undefined;
    const path = known ? '/proc/millrace/x' : '/\0';
    await expect(makeFolder(path)).rejects.toThrow();
  });
});
