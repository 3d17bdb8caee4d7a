import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readJournal } from '../partial/journal-file.ts';
import { PartialFile } from '../partial/partial-file.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX, NEW_JOURNAL_SUFFIX } from './partial-names.ts';

let folder: string;
let path: string;
let victim: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  path = join(folder, 'a.iso');
  victim = join(folder, 'victim');
  writeFileSync(victim, 'mine');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const header = { url: 'https://a.example/a.iso', length: 4, validators: { etag: '"x"' } };
const open = () => PartialFile.open({ path, overwrite: false, header });

describe('a partial file', () => {
  test.each<[string, (at: string) => void]>([
    ['a link', (at) => symlinkSync(victim, at)],
    ['a link to nowhere', (at) => symlinkSync(join(folder, 'new'), at)],
    ['another name of a file', (at) => linkSync(victim, at)],
    ['a folder', (at) => mkdirSync(at)],
    ['a pipe', (at) => void execFileSync('mkfifo', [at])],
  ])('is not opened if another user has put %s in its place', async (_, put) => {
    put(path + DATA_SUFFIX);
    await expect(open()).rejects.toMatchObject({ code: 'file-not-writable' });
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    expect(() => readFileSync(join(folder, 'new'))).toThrow();
  });

  test('is resumed if it is our own', async () => {
    const file = await open();
    await file.store(0, Buffer.from('ab'));
    await file.close();
    const again = await open();
    expect(again.stored.bytes).toBe(2);
    await again.store(2, Buffer.from('cd'));
    await again.finish(4);
    await again.settle(true);
    expect(readFileSync(path, 'utf8')).toBe('abcd');
  });

  test('that is swapped at the last moment is not taken for the complete one', async () => {
    const file = await open();
    await file.store(0, Buffer.from('abcd'));
    rmSync(path + DATA_SUFFIX);
    symlinkSync(victim, path + DATA_SUFFIX);
    await expect(file.finish(4)).rejects.toThrow();
    await file.close();
    expect(readFileSync(victim, 'utf8')).toBe('mine');
  });
});

describe('its journal', () => {
  test('is not read through a link, and a pipe is not waited for', async () => {
    symlinkSync(victim, path + JOURNAL_SUFFIX);
    expect(await readJournal(path + JOURNAL_SUFFIX)).toBeUndefined();
    rmSync(path + JOURNAL_SUFFIX);
    execFileSync('mkfifo', [path + JOURNAL_SUFFIX]);
    expect(await readJournal(path + JOURNAL_SUFFIX)).toBeUndefined();
  });

  test('is rewritten in place of a link, not through it', async () => {
    symlinkSync(victim, path + NEW_JOURNAL_SUFFIX);
    const file = await open();
    await file.store(0, Buffer.from('ab'));
    await file.flush();
    await file.close();
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    expect((await readJournal(path + JOURNAL_SUFFIX))?.header.url).toBe(header.url);
  });
});
