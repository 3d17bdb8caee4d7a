import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EMPTY_SHA256, formatManifest, type Manifest, parseManifest } from './manifest.ts';
import { clashKey, fileUrl, foldersAbove, PathClashes, pathFault } from './sync-path.ts';

const SHA = '0123456789abcdef'.repeat(4);
const FILE = { size: 10, sha256: SHA, mode: '644', modified: 1_600_000_000_000 };
const HEAD = { format: 'millrace-sync', version: 1, url: 'https://example.com/dir/', folders: [] };

const written = (document: object) => JSON.stringify({ ...HEAD, files: [], ...document });
const withPaths = (...paths: unknown[]) =>
  written({ files: paths.map((path) => ({ path, ...FILE })) });

const name = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }),
    fc.constantFrom('.', '..', 'CON', 'a ', 'a.', '.millrace-sync', 'é', 'é', 'A', 'a', '%41'),
  )
  .map((text) => text.replaceAll('/', '_'));
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));

describe('manifests', () => {
  const hostile: readonly (readonly [string, string])[] = [
    ['an absolute path', withPaths('/etc/passwd')],
    ['a way out', withPaths('../x')],
    ['a way out in the middle', withPaths('a/../../x')],
    ['a way out at the end', withPaths('a/..')],
    ['a name that is a dot', withPaths('a/./b')],
    ['a drive', withPaths('C:x')],
    ['backslashes', withPaths('a\\..\\x')],
    ['a device', withPaths('a/NUL.txt')],
    ['a device with an extension', withPaths('com1.tar.gz')],
    ['a device with a stream', withPaths('a/AUX:x')],
    ['a NUL', withPaths('a\0b')],
    ['a new line', withPaths('a\nb')],
    ['a line separator', withPaths('a\u2028b')],
    ['no path', withPaths('')],
    ['an empty name', withPaths('a//b')],
    ['a folder as a file', withPaths('a/')],
    ['a name that ends in a dot', withPaths('a.')],
    ['a name that ends in a space', withPaths('a /b')],
    ['too long a name', withPaths('é'.repeat(128))],
    [
      'too long a path',
      withPaths(
        `${'a/'.repeat(60)}${'b'.repeat(250)}/${'c'.repeat(250)}/${'d'.repeat(250)}/${'e'.repeat(250)}`,
      ),
    ],
    ['too deep a path', withPaths(`${'a/'.repeat(64)}b`)],
    ['our own folder', withPaths('.millrace-sync/lock')],
    ['our own folder in another case', withPaths('.Millrace-SYNC/x')],
    ['our own folder with an invisible character in it', withPaths('.mill\u200drace-sync/x')],
    ['our own folder by its short name on Windows', withPaths('MILLRA~1/lock')],
    ['our own folder by a hashed short name', withPaths('mi3f2a~1/lock')],
    ['a file twice', withPaths('a', 'a')],
    ['upper and lower case', withPaths('Read', 'read')],
    ['two ways of writing a letter', withPaths('caf\u00e9', 'cafe\u0301')],
    ['letters that are one in upper case', withPaths('ſ', 's')],
    ['a file that is a folder as well', withPaths('a', 'a/b')],
    ['a folder that is a file as well', withPaths('a/b', 'a')],
    ['folders that differ in case', withPaths('A/x', 'a/y')],
    ['half a character', withPaths('a\ud800')],
    ['a path that is not text', withPaths(7)],
    ['no files', written({ files: undefined })],
    ['a link', written({ files: [{ path: 'a', ...FILE, link: 'b' }] })],
    ['a set-user-id bit', written({ files: [{ path: 'a', ...FILE, mode: '4755' }] })],
    ['a mode that is not octal', written({ files: [{ path: 'a', ...FILE, mode: '888' }] })],
    ['a folder outside', written({ folders: ['../x'] })],
    ['a folder that is in a file', written({ folders: ['a/b'], files: [{ path: 'a', ...FILE }] })],
    ['another version', written({ version: 2 })],
    ['another format', written({ format: 'x' })],
    ['an unknown member', written({ more: 1 })],
    [
      'two sizes of one content',
      written({
        files: [
          { path: 'a', ...FILE },
          { path: 'b', ...FILE, size: 9 },
        ],
      }),
    ],
    [
      'an empty file with the digest of other contents',
      written({ files: [{ path: 'a', ...FILE, size: 0 }] }),
    ],
    [
      'a file that is not empty with the digest of an empty one',
      written({ files: [{ path: 'a', ...FILE, sha256: EMPTY_SHA256 }] }),
    ],
    ['half a byte', written({ files: [{ path: 'a', ...FILE, size: 0.5 }] })],
    ['a negative size', written({ files: [{ path: 'a', ...FILE, size: -1 }] })],
    ['too large a file', written({ files: [{ path: 'a', ...FILE, size: 2 ** 60 }] })],
    ['a time out of range', written({ files: [{ path: 'a', ...FILE, modified: 1e300 }] })],
    [
      'a digest in capitals',
      written({ files: [{ path: 'a', ...FILE, sha256: SHA.toUpperCase() }] }),
    ],
    [
      'too few pieces',
      written({
        files: [{ path: 'a', ...FILE, size: 2 ** 20, pieces: { bytes: 2 ** 16, sha256: [SHA] } }],
      }),
    ],
    [
      'pieces that are too small',
      written({
        files: [{ path: 'a', ...FILE, pieces: { bytes: 1, sha256: Array(10).fill(SHA) } }],
      }),
    ],
    ['a URL of another scheme', written({ url: 'file:///etc/' })],
    ['a URL with a password', written({ url: 'http://a:b@example.com/' })],
    ['a URL of a file', written({ url: 'https://example.com/file' })],
    ['a URL with a query', written({ url: 'https://example.com/?a=/' })],
    ['an archive outside', written({ archive: { path: '../x', size: 10, sha256: SHA } })],
    ['half a document', written({}).slice(0, -5)],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
  ];

  test.each(hostile)('with %s are refused', (_, text) => {
    expect(() => parseManifest(text, false)).toThrow('The manifest cannot be used');
  });

  test.each(['2024-01:b', 'a<b', 'what?', 'a*', 'a|b', 'a"b', 'x/LONGNA~1.TXT', 'git~2'])(
    'with %j are refused only for Windows, which has no such files',
    (text) => {
      expect(parseManifest(withPaths(text), false).files).toHaveLength(1);
      expect(() => parseManifest(withPaths(text), true)).toThrow('Windows');
    },
  );

  test('are written sorted, one file per line, and read back as the same', () => {
    const manifest: Manifest = {
      url: 'https://example.com/dir/',
      archive: { path: 'all.tar', size: 2 ** 20, sha256: SHA.replace('0', '1') },
      folders: ['empty'],
      files: [
        { path: 'b/ü %41', ...FILE },
        {
          path: 'a',
          ...FILE,
          mode: '755',
          size: 2 ** 17,
          sha256: SHA.replace('0', '2'),
          pieces: { bytes: 2 ** 16, sha256: [SHA, SHA] },
        },
        { path: 'none', ...FILE, size: 0, sha256: EMPTY_SHA256 },
      ],
    };
    const text = formatManifest(manifest);
    expect(text.trimEnd().split('\n')).toHaveLength(5);
    expect(parseManifest(text, false)).toEqual({
      ...manifest,
      files: [manifest.files[1], manifest.files[0], manifest.files[2]],
    });
    expect(formatManifest(parseManifest(text, false))).toBe(text);
  });

  test('can be read if they can be written, and are refused by reader and writer alike', () => {
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 5 }), (paths) => {
        const files = paths.map((p) => ({ path: p, ...FILE }));
        let text: string;
        try {
          text = formatManifest({ url: HEAD.url, folders: [], files });
        } catch {
          expect(() => parseManifest(withPaths(...paths), false)).toThrow();
          return;
        }
        expect(
          parseManifest(text, false)
            .files.map((f) => f.path)
            .sort(),
        ).toEqual([...paths].sort());
      }),
      { numRuns: 500 },
    );
  });
});

describe('paths', () => {
  test('that are accepted stay inside the folder and have one URL each', () => {
    fc.assert(
      fc.property(path, (text) => {
        if (pathFault(text, false) !== undefined) return;
        const base = 'https://example.com/dir/';
        const url = new URL(fileUrl(base, text));
        expect(url.href).toBe(fileUrl(base, text));
        expect(url.pathname.startsWith('/dir/')).toBe(true);
        expect(decodeURIComponent(url.pathname.slice('/dir/'.length))).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test('that clash do so in either order', () => {
    fc.assert(
      fc.property(path, path, (a, b) => {
        const both = (x: string, y: string) => {
          const clashes = new PathClashes();
          return [clashes.addFile(x), clashes.addFile(y)].filter((fault) => fault !== undefined);
        };
        expect(both(a, b).length).toBe(both(b, a).length);
      }),
      { numRuns: 500 },
    );
  });

  test('are equal if only case or Unicode form differs', () => {
    expect(clashKey('CAFÉ/x')).toBe(clashKey('cafe\u0301/X'));
    expect(clashKey('a')).not.toBe(clashKey('b'));
    expect(clashKey('x²')).not.toBe(clashKey('x2'));
  });

  test('know the folders above them', () => {
    expect(foldersAbove('a/b/c')).toEqual(['a', 'a/b']);
    expect(foldersAbove('a')).toEqual([]);
  });
});

test('a version that is an object with its own toString is an unknown version', () => {
  const text = '{"format":"millrace-sync","version":{"toString":null}}';
  expect(() => parseManifest(text, false)).toThrow('is not known here');
});

test('an object in place of a list is refused, even if its length has its own toString', () => {
  const list = '{"length":{"toString":null}}';
  const text = `{"format":"millrace-sync","version":1,"url":"http://a/","folders":${list},"files":[]}`;
  try {
    parseManifest(text, false);
    throw new Error('it was accepted');
  } catch (error) {
    expect((error as { code?: string }).code).toBe('bad-manifest');
  }
});
