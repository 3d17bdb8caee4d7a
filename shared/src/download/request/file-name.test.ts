import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { nameFromUrl, safeFileName } from './file-name.ts';

const bytes = (name: string) => Buffer.byteLength(name);

describe('file names', () => {
  test.each([
    ['file.iso', 'file.iso'],
    ['my file (1).iso', 'my file (1).iso'],
    ['файл.iso', 'файл.iso'],
    ['😀.iso', '😀.iso'],
    ['archive.tar.gz', 'archive.tar.gz'],
    ['cafe\u0301.iso', 'café.iso'],
    ['console.log', 'console.log'],
    ['nullable', 'nullable'],
    ["it's~100%&more#.bin", "it's~100%&more#.bin"],
  ])('%j stays %j', (name, safe) => {
    expect(safeFileName(name)).toBe(safe);
  });

  test.each([
    ['../../etc/passwd', 'passwd'],
    ['/etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['C:\\Windows\\system32\\x.dll', 'x.dll'],
    ['C:x.dll', 'C_x.dll'],
    ['\\\\server\\share\\x', 'x'],
    ['a/b\\c', 'c'],
    ['x.txt:stream', 'x.txt_stream'],
    ['..', 'download'],
    ['.', 'download'],
    ['...', 'download'],
    ['folder/', 'download'],
    ['folder\\..', 'download'],
  ])('%j does not leave the folder: %j', (name, safe) => {
    expect(safeFileName(name)).toBe(safe);
  });

  test.each([
    ['a\0b.txt', 'a_b.txt'],
    ['a\r\nb', 'a__b'],
    ['a\x7fb\x9fc', 'a_b_c'],
    ['a*b?c"d<e>f|g', 'a_b_c_d_e_f_g'],
    ['\u202egnp.exe', 'gnp.exe'],
    ['photo\u202e\u2066gnp.exe', 'photognp.exe'],
    ['in\u200bvis\u200dible\ufeff.txt', 'invisible.txt'],
    ['line\u2028end', 'lineend'],
  ])('%j loses deceptive and forbidden characters: %j', (name, safe) => {
    expect(safeFileName(name)).toBe(safe);
  });

  test.each([
    ['.bashrc', 'bashrc'],
    ['  .hidden', 'hidden'],
    ['\u200b.hidden', 'hidden'],
    ['name.', 'name'],
    ['name. . .', 'name'],
    ['name.exe \t', 'name.exe _'],
    ['name.exe   ', 'name.exe'],
    ['', 'download'],
    ['   ', 'download'],
    ['\u200b', 'download'],
  ])('%j is neither hidden nor ends in dots or blanks: %j', (name, safe) => {
    expect(safeFileName(name)).toBe(safe);
  });

  test.each(['con', 'CON', 'Prn', 'aux.txt', 'nul.tar.gz', 'COM1', 'com9.log', 'LPT¹', 'lpt0.x'])(
    '%j does not become a device name of Windows',
    (name) => {
      expect(safeFileName(name)).toBe(`_${name}`);
      expect(safeFileName(`${name} `)).toBe(`_${name}`);
      expect(safeFileName(`../.${name}`)).toBe(`_${name}`);
    },
  );

  test('a name that is too long keeps its extension and whole characters', () => {
    expect(safeFileName(`${'a'.repeat(10_000)}.tar`)).toBe(`${'a'.repeat(196)}.tar`);
    expect(safeFileName('a'.repeat(10_000))).toBe('a'.repeat(200));
    expect(safeFileName(`${'ü'.repeat(10_000)}.tar`)).toBe(`${'ü'.repeat(98)}.tar`);
    expect(safeFileName(`x${'😀'.repeat(10_000)}`)).toBe(`x${'😀'.repeat(49)}`);
    // An ending longer than any extension does not count as one.
    expect(safeFileName(`a.${'b'.repeat(10_000)}`)).toBe(`a.${'b'.repeat(198)}`);
  });

  test('a name as long as the limit is kept, and one more character is cut', () => {
    const longest = `${'a'.repeat(196)}.iso`;
    expect(safeFileName(longest)).toBe(longest);
    expect(safeFileName(`a${longest}`)).toBe(longest);
    const emoji = `${'😀'.repeat(50)}`;
    expect(safeFileName(emoji)).toBe(emoji);
    expect(safeFileName(`${emoji}x`)).toBe(emoji);
  });

  test('any server-sent name becomes a name that every file system accepts', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)),
      fc.constantFrom('..', '/', '\\', ':', '\0', ' ', '.', 'con', 'C:', '\u202e', '😀', '.txt'),
      fc.constantFrom('a', '😀', 'ü', '_').map((char) => char.repeat(150)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const safe = safeFileName(pieces.join(''));
        expect(bytes(safe)).toBeGreaterThanOrEqual(1);
        expect(bytes(safe)).toBeLessThanOrEqual(200);
        expect(safe).not.toMatch(/[/\\:*?"<>|\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e]/);
        expect(safe).not.toMatch(/^[.\s]/);
        expect(safe).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i);
      }),
    );
  });

  test.each([
    ['https://example.com/pub/file.iso?x=/y', 'file.iso'],
    ['https://example.com/my%20file.iso#part', 'my file.iso'],
    ['https://example.com/%C3%BC.iso', 'ü.iso'],
    ['https://example.com/%FC.iso', '%FC.iso'],
    ['https://example.com/a%2F..%2Fb', 'b'],
    ['https://example.com/%2e%2e%2f', 'download'],
    ['https://example.com/con', '_con'],
    ['https://example.com/folder/', 'download'],
    ['https://example.com', 'download'],
  ])('the file at %s is called %j', (url, name) => {
    expect(nameFromUrl(url)).toBe(name);
  });
});

test('a name of a megabyte of dots or blanks is read in linear time', () => {
  for (const fill of ['.', ' ', ' .']) {
    expect(bytes(safeFileName(`a${fill.repeat(2 ** 20)}b.iso`))).toBeLessThanOrEqual(200);
  }
});

test('a lone surrogate in a name is replaced, because no file system accepts it', () => {
  expect(safeFileName('a\ud800b.iso').isWellFormed()).toBe(true);
});

test('a long name without an extension is not cut behind a dot, which some systems drop', () => {
  const name = safeFileName(`a${'.'.repeat(150)}${'b'.repeat(200)}`);
  expect(name).toBe(safeFileName(name));
  expect(safeFileName(`${'a'.repeat(150)}${'.'.repeat(100)}${'b'.repeat(100)}`)).not.toMatch(/\.$/);
});

test('a letter and an accent with something invisible between them become one character', () => {
  expect(safeFileName('le\u200b\u0301e.tar.gz')).toBe('l\u00e9e.tar.gz');
});
