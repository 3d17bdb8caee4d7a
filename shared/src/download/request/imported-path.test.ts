import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { folderBelow, nameBelow } from './imported-path.ts';

const BASE = '/home/u/Downloads';

describe('a listed folder', () => {
  test.each([
    ['.', ''],
    ['', ''],
    ['films', 'films'],
    ['films/old/', 'films/old'],
    ['./films//old', 'films/old'],
    ['/home/u/Downloads', ''],
    ['/home/u/Downloads/', ''],
    ['/home/u/Downloads/films', 'films'],
    ['.ssh', 'ssh'],
    ['/home/u/Downloads/.config/autostart', 'config/autostart'],
    ['films\\old', 'films/old'],
    ['aux/nul.txt', '_aux/_nul.txt'],
  ])('%j below the download folder is %j there', (listed, expected) => {
    expect(folderBelow(BASE, listed, false)).toBe(expected);
  });

  test.each([
    '/home/u/.ssh',
    '/home/u/Downloads2',
    '/home/u',
    '/',
    '/etc/cron.d',
    '..',
    'films/../../.ssh',
    'films/..',
    '/home/u/Downloads/../.ssh',
    '..\\..\\.ssh',
    '~/.ssh',
    '~root',
    'C:\\Users\\u\\Startup',
    'C:films',
    'c:/Windows',
    '\\\\server\\share',
    '//server/share',
    '\\\\?\\C:\\Windows',
    '/home/u/Downloads\0/x',
    'a\nb',
    '/home/U/downloads',
    `${'a/'.repeat(40)}`,
    'a'.repeat(5000),
  ])('%j is left out', (listed) => {
    expect(folderBelow(BASE, listed, false)).toBeUndefined();
  });

  test('on Windows drives and folders match in any case, and another drive does not match', () => {
    const base = 'C:\\Users\\u\\Downloads';
    expect(folderBelow(base, 'c:/users/U/downloads/Films', true)).toBe('Films');
    expect(folderBelow(base, 'D:\\Users\\u\\Downloads', true)).toBeUndefined();
    expect(folderBelow(base, '\\Users\\u\\Downloads', true)).toBeUndefined();
  });

  test('no path leads out of the folder or into a hidden one, whatever is listed', () => {
    const piece = fc.constantFrom(
      '..',
      '.',
      '',
      '.ssh',
      'a',
      'con',
      '~',
      'C:',
      '\\',
      '/',
      '\0',
      ' ',
    );
    const listed = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 6 }).map((all) => all.join('/')),
      fc.array(piece, { maxLength: 6 }).map((all) => `${BASE}/${all.join('\\')}`),
    );
    fc.assert(
      fc.property(listed, fc.boolean(), (text, windows) => {
        const folder = folderBelow(BASE, text, windows);
        const name = nameBelow(text);
        for (const path of [folder, name]) {
          for (const part of path?.split('/') ?? []) {
            if (path !== '') expect(part).not.toMatch(/^\.|^$|[\\:\0]/);
          }
        }
      }),
    );
  });
});

describe('a listed name', () => {
  test.each([
    ['a.iso', 'a.iso'],
    ['films/a.mkv', 'films/a.mkv'],
    ['.bashrc', 'bashrc'],
    ['films\\a.mkv', 'films/a.mkv'],
    ['con.txt', '_con.txt'],
  ])('%j becomes %j', (listed, expected) => {
    expect(nameBelow(listed)).toBe(expected);
  });

  test.each([
    '',
    '..',
    '../a',
    '/etc/passwd',
    'C:\\a',
    'C:a',
    '\\\\server\\a',
    '~/a',
    'a/\0',
    'a/',
  ])('%j is left out', (listed) => {
    expect(nameBelow(listed)).toBeUndefined();
  });
});
