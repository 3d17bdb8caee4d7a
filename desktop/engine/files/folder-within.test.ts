import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { makeFolderOf, makeFolderWithin } from './folder-within.ts';

let root: string;
let downloads: string;
let outside: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  downloads = join(root, 'downloads');
  outside = join(root, 'outside');
  for (const folder of [downloads, outside]) mkdirSync(folder);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a folder that has to stay below another', () => {
  test('is made, with the folders above it', async () => {
    await makeFolderOf(join(downloads, 'a', 'b', 'x.iso'), downloads);
    expect(statSync(join(downloads, 'a', 'b')).isDirectory()).toBe(true);
  });

  test.each(['link', 'link/a', 'link/a/b'])('is not made through a link: %s', async (folder) => {
    symlinkSync(outside, join(downloads, 'link'));
    const making = makeFolderWithin(join(downloads, folder), downloads);
    await expect(making).rejects.toMatchObject({ code: 'file-not-writable' });
    expect(readdirSync(outside)).toEqual([]);
  });

  test('is not made through a link to nowhere', async () => {
    symlinkSync(join(outside, 'new'), join(downloads, 'link'));
    await expect(makeFolderWithin(join(downloads, 'link', 'a'), downloads)).rejects.toThrow();
    expect(readdirSync(outside)).toEqual([]);
  });

  test('may be reached by links that stay below, and the other folder may itself be a link', async () => {
    mkdirSync(join(downloads, 'films'));
    symlinkSync(join(downloads, 'films'), join(downloads, 'videos'));
    symlinkSync(downloads, join(root, 'dl'));
    await makeFolderWithin(join(root, 'dl', 'videos', 'new'), join(root, 'dl'));
    expect(readdirSync(join(downloads, 'films'))).toEqual(['new']);
  });

  test('is made as it is if the user has moved it elsewhere since', async () => {
    await makeFolderWithin(join(outside, 'a'), downloads);
    expect(readdirSync(outside)).toEqual(['a']);
  });
});
