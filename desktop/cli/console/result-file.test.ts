import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { writeResult } from './result-file.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-result-'));
});
afterEach(() => rm(dir, { recursive: true }));

const contents = async () => {
  const names = (await readdir(dir)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), 'utf8')])),
  );
};

describe('writeResult', () => {
  test('touches no other file, whatever that is called', async () => {
    await writeFile(join(dir, 'list.new'), 'mine');
    await writeResult(join(dir, 'list'), 'text', { overwrites: false, mode: 0o600 });
    expect(await contents()).toEqual({ list: 'text', 'list.new': 'mine' });
    if (process.platform === 'win32') return;
    expect((await stat(join(dir, 'list'))).mode & 0o777).toBe(0o600);
  });

  test('replaces a file only if that is wanted, and leaves nothing else behind', async () => {
    const path = join(dir, 'list');
    await writeFile(path, 'old');
    const refused = writeResult(path, 'new', { overwrites: false });
    await expect(refused).rejects.toEqual(expect.objectContaining({ code: 'file-exists' }));
    expect(await contents()).toEqual({ list: 'old' });
    await writeResult(path, 'new', { overwrites: true });
    expect(await contents()).toEqual({ list: 'new' });
  });

  test('writes into the file that a link leads to', async () => {
    await writeFile(join(dir, 'file'), 'old');
    await symlink('file', join(dir, 'link'));
    await writeResult(join(dir, 'link'), 'new', { overwrites: true });
    expect(await contents()).toEqual({ file: 'new', link: 'new' });
    expect((await lstat(join(dir, 'link'))).isSymbolicLink()).toBe(true);
  });

  test('names a folder that is missing', async () => {
    const path = join(dir, 'nowhere', 'list');
    const refused = writeResult(path, 'text', { overwrites: false });
    await expect(refused).rejects.toEqual(
      expect.objectContaining({ code: 'file-not-writable', detail: `${path} (ENOENT)` }),
    );
  });

  const linux = process.platform === 'linux' ? test : test.skip;
  linux('writes into a device, which stays', async () => {
    const link = join(dir, 'device');
    await symlink('/dev/null', link);
    await writeResult(link, 'text', { overwrites: true });
    expect(await contents()).toEqual({ device: '' });
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
  });
});
