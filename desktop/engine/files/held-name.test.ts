import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ASIDE_SUFFIX, holdName, isHeld, releaseName } from './held-name.ts';

const TOKEN = '00000000-0000-4000-8000-000000000001';
const OTHER = '00000000-0000-4000-8000-000000000002';
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  path = join(folder, 'a.bin');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const there = () => readdirSync(folder);

describe('a name', () => {
  test('is held for one download, and released', async () => {
    holdName(path, TOKEN);
    expect(there()).toEqual(['a.bin']);
    expect(await isHeld(path, TOKEN)).toBe(true);
    expect(await isHeld(path, OTHER)).toBe(false);
    await releaseName(path, OTHER);
    expect(there()).toEqual(['a.bin']);
    await releaseName(path, TOKEN);
    expect(there()).toEqual([]);
    expect(await isHeld(path, TOKEN)).toBe(false);
    await releaseName(path, TOKEN);
  });

  test.each<[what: string, make: () => void]>([
    ['a file', () => writeFileSync(path, 'x')],
    ['an empty file', () => writeFileSync(path, '')],
    ['a folder', () => mkdirSync(path)],
    ['a link to nothing', () => symlinkSync(join(folder, 'none'), path)],
    ['another download', () => holdName(path, OTHER)],
    ['the same download', () => holdName(path, TOKEN)],
  ])('is not held if there is %s', (_, make) => {
    make();
    const before = there();
    expect(() => holdName(path, TOKEN)).toThrow(expect.objectContaining({ code: 'EEXIST' }));
    expect(there()).toEqual(before);
  });

  test('is not held if its folder is gone', () => {
    rmSync(folder, { recursive: true });
    expect(() => holdName(path, TOKEN)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });

  test('is not held by a link to a file that holds another name', async () => {
    holdName(path, TOKEN);
    const link = join(folder, 'b.bin');
    symlinkSync(path, link);
    expect(await isHeld(link, TOKEN)).toBe(false);
    await releaseName(link, TOKEN);
    expect(there()).toEqual(['a.bin', 'b.bin']);
  });

  test('under which another program has put a file stays with that file', async () => {
    holdName(path, TOKEN);
    writeFileSync(path, 'the browser’s');
    await releaseName(path, TOKEN);
    expect(readFileSync(path, 'utf8')).toBe('the browser’s');
    writeFileSync(path, Buffer.alloc(1_000_000));
    await releaseName(path, TOKEN);
    expect(there()).toEqual(['a.bin']);
  });
});

describe('after a crash', () => {
  const aside = () => path + ASIDE_SUFFIX;

  test.each([0, 1, 20, 60])('with %i bytes written, nothing is left', async (bytes) => {
    holdName(path, TOKEN);
    const text = readFileSync(path).subarray(0, bytes);
    rmSync(path);
    writeFileSync(aside(), text);
    await releaseName(path, TOKEN);
    expect(there()).toEqual([]);
  });

  test('while the file that holds the name has two names, nothing is left', async () => {
    holdName(path, TOKEN);
    linkSync(path, aside());
    await releaseName(path, TOKEN);
    expect(there()).toEqual([]);
  });

  test('a file of another program that was moved aside is put back', async () => {
    writeFileSync(aside(), 'the browser’s');
    await releaseName(path, TOKEN);
    expect(there()).toEqual(['a.bin']);
    expect(readFileSync(path, 'utf8')).toBe('the browser’s');
  });

  test('a file moved aside is put beside a newer one of its name', async () => {
    writeFileSync(aside(), 'the browser’s');
    writeFileSync(path, 'the user’s');
    await releaseName(path, TOKEN);
    expect(there().sort()).toEqual(['a.1.bin', 'a.bin']);
    expect(readFileSync(path, 'utf8')).toBe('the user’s');
    expect(readFileSync(join(folder, 'a.1.bin'), 'utf8')).toBe('the browser’s');
  });
});
