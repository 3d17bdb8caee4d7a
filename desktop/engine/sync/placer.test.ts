import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Placer } from './placer.ts';

let around: string;
let root: string;
let outside: string;
let staged = 0;

beforeEach(async () => {
  around = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  [root, outside] = [join(around, 'root'), join(around, 'outside')];
  await mkdir(root);
  await mkdir(outside);
});
afterEach(() => rm(around, { recursive: true }));

const refused = expect.objectContaining({ code: 'file-not-writable' });
const of = (path: string, mode = '644') => ({ path, mode, modified: 1_600_000_000_000 });

async function put(placer: Placer, path: string, mode?: string): Promise<void> {
  const from = join(around, `staged-${staged++}`);
  await writeFile(from, path, { mode: 0o600 });
  await placer.place(from, of(path, mode));
}

/** Swaps a folder for a link, as another program might in the middle of a run. */
async function swapForLink(folder: string): Promise<void> {
  await rename(join(root, folder), join(around, `was-${staged++}`));
  await symlink(outside, join(root, folder));
}

test('a file gets its execution bit and time, and its place in folders that are made', async () => {
  const placer = new Placer(root);
  await put(placer, 'a/b/run', '755');
  const path = join(root, 'a/b/run');
  const { mode, mtimeMs } = await stat(path);
  expect([await readFile(path, 'utf8'), mode & 0o100, mtimeMs]).toEqual([
    ...['a/b/run', 0o100, 1_600_000_000_000],
  ]);
  await placer.settle(of('a/b/run'));
  expect((await stat(path)).mode & 0o111).toBe(0);
  expect(await placer.remove('a')).toBe(false);
  expect(await placer.remove('a/b/run')).toBe(true);
  expect(await readdir(join(root, 'a/b'))).toEqual([]);
});

describe('a link that another program makes during a run', () => {
  test.each(['a', 'a/b'])(
    'in place of the folder %s lets nothing outside be changed',
    async (swapped) => {
      const placer = new Placer(root);
      await put(placer, 'a/b/first');
      await mkdir(join(outside, 'b'));
      for (const place of ['victim', 'b/victim']) await writeFile(join(outside, place), 'kept');
      await swapForLink(swapped);
      await expect(put(placer, 'a/b/second')).rejects.toEqual(refused);
      await expect(put(placer, 'a/b/victim')).rejects.toEqual(refused);
      await expect(placer.folder('a/b/folder')).rejects.toEqual(refused);
      await expect(placer.settle(of('a/b/victim', '755'))).rejects.toEqual(refused);
      await expect(placer.remove('a/b/victim')).rejects.toEqual(refused);
      expect((await readdir(outside)).sort()).toEqual(['b', 'victim']);
      expect(await readdir(join(outside, 'b'))).toEqual(['victim']);
      expect((await stat(join(outside, 'victim'))).mode & 0o111).toBe(0);
    },
  );

  test('in place of a file leaves time and mode of its target unchanged', async () => {
    const placer = new Placer(root);
    const victim = join(outside, 'victim');
    await writeFile(victim, 'kept');
    const before = await stat(victim);
    await symlink(victim, join(root, 'a'));
    await expect(placer.settle(of('a', '755'))).rejects.toEqual(refused);
    await symlink(victim, join(around, 'staged'));
    await expect(placer.place(join(around, 'staged'), of('b', '755'))).rejects.toEqual(refused);
    const { mode, mtimeMs } = await stat(victim);
    expect([mode, mtimeMs]).toEqual([before.mode, before.mtimeMs]);
  });
});
