import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openSource } from './open-source.ts';
import { fill, type UploadSource } from './upload-source.ts';

const signal = new AbortController().signal;
const run = promisify(execFile);
const LONG = `${'long'.repeat(30)}/${'name'.repeat(30)}.txt`;
const FILES: Record<string, string> = {
  'a.txt': 'first',
  'a/b.bin': 'x'.repeat(5000),
  'a-b': '',
  [LONG]: 'deep',
  'ä ö.txt': 'umlauts',
  'block.bin': 'y'.repeat(1024),
};

let root = '';
let folder = '';
let source: UploadSource;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  folder = join(root, 'data');
  for (const [path, text] of Object.entries(FILES)) {
    const full = join(folder, path);
    await mkdir(join(full, '..'), { recursive: true });
    await writeFile(full, text);
    await utimes(full, 1_700_000_000, 1_700_000_000);
  }
  await mkdir(join(folder, 'empty'));
  await chmod(join(folder, 'a.txt'), 0o700);
  source = await openSource(folder, signal);
});
afterEach(async () => {
  await source.close();
  await rm(root, { recursive: true });
});

async function whole(of: UploadSource): Promise<Buffer> {
  const bytes = Buffer.alloc(of.state.bytes);
  await fill(of, bytes, 0);
  return bytes;
}

test('any range is that of the whole, also when many are read at a time', async () => {
  const all = await whole(source);
  const range = fc.tuple(fc.nat(all.length - 1), fc.nat(3000));
  await fc.assert(
    fc.asyncProperty(fc.array(range, { minLength: 1, maxLength: 12 }), async (ranges) => {
      await Promise.all(
        ranges.map(async ([start, bytes]) => {
          const into = Buffer.alloc(Math.max(1, Math.min(bytes, all.length - start)));
          await fill(source, into, start);
          expect(into.equals(all.subarray(start, start + into.length))).toBe(true);
        }),
      );
    }),
  );
});

test('the same folder gives the same bytes, and a changed one another state', async () => {
  const again = await openSource(folder, signal);
  expect(again.state).toEqual(source.state);
  expect((await whole(again)).equals(await whole(source))).toBe(true);
  await again.close();
  await source.check();
  await utimes(join(folder, 'a/b.bin'), 1_700_000_000, 1_700_000_001);
  await expect(source.check()).rejects.toMatchObject({
    ...{ code: 'file-has-changed', detail: 'data/a/b.bin' },
  });
  const other = await openSource(folder, signal);
  expect(other.state).not.toEqual(source.state);
  expect(other.state.bytes).toBe(source.state.bytes);
  await other.close();
});

test('tar lists and unpacks it: names, bytes, times, rights, empty folders', async () => {
  const tar = join(root, 'data.tar');
  await writeFile(tar, await whole(source));
  const listed = await run('tar', ['-tf', tar], { env: { LC_ALL: 'C.UTF-8', ...process.env } });
  expect(listed.stderr).toBe('');
  const names = listed.stdout.trim().split('\n');
  expect(names.slice(0, 2)).toEqual(['data/', 'data/a-b']);
  expect(names).toContain('data/empty/');
  const to = join(root, 'to');
  await mkdir(to);
  expect((await run('tar', ['-xpf', tar, '-C', to])).stderr).toBe('');
  for (const [path, text] of Object.entries(FILES)) {
    expect(await readFile(join(to, 'data', path), 'utf8')).toBe(text);
  }
  const { stdout } = await run('find', ['data', '-printf', '%p %m %Ts %y\\n'], { cwd: to });
  const printed = stdout.trim().split('\n');
  expect(printed).toContain('data/a.txt 755 1700000000 f');
  expect(printed).toContain('data/block.bin 644 1700000000 f');
  expect(printed.find((line) => line.startsWith('data/empty '))).toMatch(/ 755 \d+ d$/);
});

test.each([
  ['written to', async (path: string) => writeFile(path, 'z'.repeat(5000))],
  ['shorter', async (path: string) => writeFile(path, 'z')],
  ['removed', async (path: string) => rm(path)],
  [
    'a link now',
    async (path: string) => {
      await rm(path);
      await symlink('../a.txt', path);
    },
  ],
])('a file that is %s is not read, and is named', async (_, change) => {
  await change(join(folder, 'a/b.bin'));
  const read = whole(source);
  await expect(read).rejects.toMatchObject({
    ...{ code: 'file-has-changed', detail: expect.stringContaining('data/a/b.bin') },
  });
  await expect(source.check()).rejects.toMatchObject({ code: 'file-has-changed' });
});

test('a link refuses the folder and is named, or is left out', async () => {
  await symlink('a.txt', join(folder, 'z'));
  await symlink('/etc', join(folder, 'a', 'away'));
  await expect(openSource(folder, signal)).rejects.toMatchObject({
    code: 'bad-option',
    detail: expect.stringMatching(/^data\/a\/away is a link .* 1 more .*--skip-links/),
  });
  const without = await openSource(folder, signal, true);
  expect(without.leftOut).toBe(2);
  expect((await whole(without)).includes('away')).toBe(false);
  await without.close();
});

test('a path that is too long refuses the folder', async () => {
  const long = join(folder, ...Array.from({ length: 5 }, () => 'p'.repeat(210)));
  await mkdir(long, { recursive: true });
  await expect(openSource(folder, signal)).rejects.toMatchObject({
    code: 'bad-option',
    detail: expect.stringContaining('1024 bytes'),
  });
});
