import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../../../testing/draws/any-text.ts';
import { faultOfFileName, safePath } from '../request/file-path.ts';

describe('names of described files', () => {
  test.each([
    ['file.iso', 'file.iso'],
    ['debian-13/amd64/file.iso', 'debian-13/amd64/file.iso'],
    ['a..b/..c', 'a..b/c'],
    ['con/nul.txt', '_con/_nul.txt'],
    ['a1:b/what?.txt', 'a1_b/what_.txt'],
    ['%2e%2e/x', '%2e%2e/x'],
    ['.hidden/.bashrc', 'hidden/bashrc'],
    ['x/photo\u202egnp.exe', 'x/photognp.exe'],
  ])('%j is saved as %j', (name, path) => {
    expect(faultOfFileName(name)).toBeUndefined();
    expect(safePath(name)).toBe(path);
  });

  test.each([
    '',
    '/',
    '/etc/passwd',
    '//server/share',
    '..',
    '../x',
    'a/..',
    'a/../b',
    './x',
    'a/./b',
    'a//b',
    'a/',
    '..\\x',
    'a\\..\\b',
    '\\\\server\\share',
    'C:/x',
    'c:x',
    'a\0b',
    'a\nb',
    'a\ud800b',
    'a'.repeat(1025),
    `${'a/'.repeat(40)}b`,
  ])('%j is refused', (name) => {
    expect(faultOfFileName(name)).toEqual(expect.any(String));
    expect(() => safePath(name)).toThrow(expect.objectContaining({ code: 'bad-metalink' }));
  });

  test('whatever the name, the path stays inside the folder', () => {
    const part = fc.oneof(
      anyText(),
      fc.constantFrom('..', '.', '', '...', '.. ', ' ..', '\u200b..', '/', '\\', 'C:', 'con', 'a'),
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
        const name = parts.join('/');
        if (faultOfFileName(name) !== undefined) return;
        const path = safePath(name).split('/');
        expect(path).toHaveLength(name.split('/').length);
        for (const folder of path) expect(folder).toMatch(/^[^./\\:\0][^/\\:\0]*$/);
      }),
    );
  });
});
