import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { newName, replaceFile, syncFolder } from './replace-file.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-test-'));
});
afterEach(() => rm(dir, { recursive: true }));

test('what a killed process left beside a file is written over, and its link is not followed', async () => {
  const path = join(dir, 'list.json');
  const other = join(dir, 'other');
  await writeFile(other, 'of somebody else');
  await writeFile(newName(path), 'half a li', { mode: 0o666 });
  await replaceFile(path, 'first');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await symlink(other, newName(path));
  await replaceFile(path, 'second');
  expect(await readFile(path, 'utf8')).toBe('second');
  expect(await readFile(other, 'utf8')).toBe('of somebody else');
  expect((await readdir(dir)).sort()).toEqual(['list.json', 'other']);
});

test('a write that fails leaves nothing beside the file', async () => {
  const path = join(dir, 'a folder', 'file');
  await expect(replaceFile(path, 'text')).rejects.toThrow('ENOENT');
  await replaceFile(join(dir, 'folder'), 'text');
  await expect(replaceFile(dir, 'text')).rejects.toThrow();
  expect(await readdir(dir)).toEqual(['folder']);
  await expect(syncFolder(path)).rejects.toThrow('ENOENT');
});
