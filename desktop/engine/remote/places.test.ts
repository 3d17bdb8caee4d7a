import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { checkedParams, checkSettings, type Places } from './places.ts';

let base: string;
let places: Places;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  places = { root: join(base, 'downloads'), others: [join(base, 'films')] };
  mkdirSync(join(places.root, 'deep'), { recursive: true });
  mkdirSync(join(base, 'secret'));
  symlinkSync(join(base, 'secret'), join(places.root, 'link'));
  symlinkSync('deep', join(places.root, 'inside'));
});
afterEach(() => rmSync(base, { recursive: true }));

const urls = ['https://a.example/x'];
const add = (more: object) => checkedParams('millrace.add', [{ urls, ...more }], places);
const notRemote = expect.objectContaining({ code: 'not-remote' });

describe('a download of another machine', () => {
  test.each(['', '.', 'deep', 'new/er', 'inside/x', 'a/../deep'])('goes to %j', async (dir) => {
    expect(await add({ dir })).toEqual([{ urls, dir }]);
  });

  test('goes to the folder of a category', async () => {
    await add({ dir: join(base, 'films', 'old') });
    await add({ dir: places.root });
  });

  test.each([
    '..',
    '../secret',
    '/etc',
    'deep/../../secret',
    'link',
    'link/new',
    'a\0b',
    '../films2',
  ])('does not go to %j', async (dir) => {
    await expect(add({ dir })).rejects.toEqual(notRemote);
    await expect(
      checkedParams('millrace.addMany', [{ downloads: [{ urls }, { urls, dir }] }], places),
    ).rejects.toEqual(notRemote);
    await expect(checkedParams('millrace.change', [{ gid: 'a', dir }], places)).rejects.toEqual(
      notRemote,
    );
    await expect(checkedParams('aria2.addUri', [urls, { dir }], places)).rejects.toEqual(notRemote);
  });

  test.each<object>([
    { cookieFile: '/etc/passwd' },
    { netrc: true },
    { overwrite: true },
    { within: '/' },
    { elsewhere: '/etc' },
    { handOff: '00000000-0000-4000-8000-000000000001' },
    { aria2: { dir: '/' } },
    { file: '../x' },
    { file: 'link/x' },
    { file: 'a\\b' },
    { file: ['x'] },
    { dir: ['/etc'] },
    { notYetInvented: 'x' },
    { trusted: true },
    { secrets: true },
    { path: '/etc/passwd' },
    { older: { path: '/etc/passwd' } },
  ])('may not have %j', async (more) => {
    await expect(add(more)).rejects.toEqual(notRemote);
  });

  test('may say that it does not have them', async () => {
    await add({
      netrc: false,
      overwrite: false,
      trusted: false,
      file: 'x.iso',
      cookieFile: undefined,
    });
  });

  test.each<object>([{ 'allow-overwrite': 'true' }, { out: 'link/x' }, { out: '/../x' }])(
    'may not have the options %j',
    async (options) => {
      await expect(checkedParams('aria2.addUri', [urls, options], places)).rejects.toEqual(
        notRemote,
      );
    },
  );

  test('that a browser offers takes no path of that browser', async () => {
    const offer = { handOff: 'x', url: 'u', path: '/etc/x', elsewhere: 'y' };
    expect(await checkedParams('millrace.offer', [offer], places)).toEqual([
      { handOff: 'x', url: 'u' },
    ]);
  });
});

describe('settings from another machine', () => {
  const category = (folder: string) => ({ categories: [{ name: 'a', folder, extensions: [] }] });

  test('may have folders below those that are allowed', async () => {
    await checkSettings(category('deep'), places);
    await checkSettings(category(join(base, 'films')), places);
    await checkSettings({ dir: places.root, appearance: {} }, places);
  });

  test.each([{ dir: '/etc' }, { dir: null }, { dir: 'deep' }, category('/etc'), category('link')])(
    'may not say %j',
    async (change) => {
      await expect(checkSettings(change, places)).rejects.toEqual(notRemote);
    },
  );
});
