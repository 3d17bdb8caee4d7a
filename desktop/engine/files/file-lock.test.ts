import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lockFile } from './file-lock.ts';

let dir = '';
let path = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
  path = join(dir, 'lock');
});
afterEach(() => rm(dir, { recursive: true }));

const exists = () =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Returns the process number in the lock. */
const owner = async () => Number.parseInt(await readFile(path, 'utf8'), 10);

/** Returns the number of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid as number;
}

describe('lockFile', () => {
  test('names the process that has the lock, until the lock is released', async () => {
    const unlock = await lockFile(path);
    expect(await owner()).toBe(process.pid);
    await unlock();
    expect(await exists()).toBe(false);
  });

  test('refuses a file that a running process has locked, and names that process', async () => {
    await writeFile(path, `${process.ppid}\n`);
    await expect(lockFile(path)).rejects.toMatchObject({
      code: 'file-in-use',
      detail: expect.stringContaining(String(process.ppid)),
    });
    expect(await readFile(path, 'utf8')).toBe(`${process.ppid}\n`);
  });

  test('takes over from a process that has died', async () => {
    await writeFile(path, `${await endedProcess()}\n`);
    const unlock = await lockFile(path);
    expect(await owner()).toBe(process.pid);
    await unlock();
  });

  test.each(['', '\n', 'x\n', '0\n', '-1\n', '1.5\n', '\0\0\0\0'])(
    'takes over a lock that a crash left: %j',
    async (content) => {
      await writeFile(path, content);
      const unlock = await lockFile(path);
      expect(await owner()).toBe(process.pid);
      await unlock();
    },
  );

  test('one process does not lock a file twice', async () => {
    const unlock = await lockFile(path);
    await expect(lockFile(path)).rejects.toMatchObject({ code: 'file-in-use' });
    await unlock();
    await (await lockFile(path))();
  });

  test('takes over from a process whose number now belongs to another process', async () => {
    const unlock = await lockFile(path);
    const started = (await readFile(path, 'utf8')).split('\n')[1];
    await unlock();
    // Where the system does not report when a process started, only its number is known.
    if (process.platform === 'linux') expect(started).toMatch(/^[0-9a-f-]{36} \d+$/);
    await writeFile(path, `${process.ppid}\n00000000-0000-0000-0000-000000000000 1\n`);
    const taken = lockFile(path);
    if (process.platform !== 'linux') return expect(taken).rejects.toThrow();
    await (await taken)();
  });

  test('a second release does not remove the next owner’s lock', async () => {
    const unlock = await lockFile(path);
    await unlock();
    await writeFile(path, `${process.ppid}\n`);
    await unlock();
    expect(await exists()).toBe(true);
  });

  test('releasing a lock that is already gone is not an error', async () => {
    const unlock = await lockFile(path);
    await rm(path);
    await unlock();
  });

  test('a missing folder is an error of its own', async () => {
    await expect(lockFile(join(dir, 'missing', 'lock'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
