import { describe, expect, test } from '@jest/globals';
import { REQUEST_DEFAULTS } from '../request/request.ts';
import { bestPieces, chooseFiles, describeDownload, requestOf } from './described-request.ts';
import { emptyFile, type FileDescription } from './description.ts';
import { mergeStatements } from './description-merge.ts';
import { parseMetalink } from './metalink.ts';
import { formatMetalink } from './metalink-write.ts';

const NOW = Date.UTC(2026, 4, 1);
const sha256 = { algorithm: 'sha256', hex: 'a'.repeat(64) } as const;
const pieces = { algorithm: 'sha1', pieceBytes: 5, hexes: ['b'.repeat(40)] } as const;
const file: FileDescription = {
  ...emptyFile('distro/f?.iso'),
  size: 5,
  digests: [sha256],
  pieces: [pieces],
  replicas: [
    { url: 'https://last.example/f', priority: 999_999 },
    { url: 'ftp://ftp.example/f', priority: 1 },
    { url: 'https://first.example/f', priority: 2, location: 'de' },
    { url: 'https://gone.example/f', priority: 1, expires: NOW },
    { url: 'https://soon.example/f', priority: 3, expires: NOW + 1 },
  ],
};

describe('a request from a description', () => {
  test('takes the URLs that can be fetched, best first, and everything that proves the file', () => {
    expect(requestOf(file, { dir: '/tmp', connections: 3 }, NOW)).toEqual({
      ...REQUEST_DEFAULTS,
      connections: 3,
      dir: '/tmp',
      within: '/tmp',
      length: 5,
      file: 'distro/f_.iso',
      urls: ['https://first.example/f', 'https://soon.example/f', 'https://last.example/f'],
      listed: ['https://first.example/f', 'https://soon.example/f', 'https://last.example/f'],
      digests: [sha256],
      pieces,
    });
    expect(requestOf(file, { dir: '.', file: 'mine' }, NOW).file).toBe('mine');
    expect(requestOf(file, { dir: '.', file: undefined }, NOW).file).toBe('distro/f_.iso');
  });

  test('has at most 64 URLs, each once', () => {
    const replicas = Array.from({ length: 200 }, (_, i) => ({
      url: `http://m${i % 100}/f`,
      priority: 100 - (i % 100),
    }));
    const { urls } = requestOf({ ...file, replicas }, { dir: '.' }, NOW);
    expect(urls).toHaveLength(64);
    expect(new Set(urls).size).toBe(64);
    expect(urls[0]).toBe('http://m99/f');
  });

  test.each([
    [['ftp://a/f', 'rsync://b/f'], undefined, 'distro/f?.iso: none of its URLs is http or https'],
    [['https://a/f'], NOW - 1, 'distro/f?.iso: every URL has expired'],
  ])('needs a URL (%#)', (urls, expires, detail) => {
    const replicas = urls.map((url) => ({ url, priority: 1, expires }));
    expect(() => requestOf({ ...file, replicas }, { dir: '.' }, NOW)).toThrow(
      expect.objectContaining({ code: 'bad-metalink', detail }),
    );
  });

  test('needs one of a web server, unlike a torrent', () => {
    expect(() => requestOf({ ...file, replicas: [], metaurls: [] }, { dir: '.' }, NOW)).toThrow(
      expect.objectContaining({ code: 'no-web-seed' }),
    );
  });

  test('never leaves the folder, even if the description was not read from a document', () => {
    expect(() => requestOf({ ...file, name: '../f' }, { dir: '.' }, NOW)).toThrow(
      expect.objectContaining({ code: 'bad-metalink' }),
    );
  });

  test('includes digests from the user, and refuses contradicting ones', () => {
    const md5 = { algorithm: 'md5', hex: 'c'.repeat(32) } as const;
    const together = (hex: string) => {
      const user = { by: '--checksum', digests: [md5, { algorithm: 'sha256' as const, hex }] };
      return { ...file, ...mergeStatements([user, { ...file, by: 'f.meta4' }]) };
    };
    expect(requestOf(together(sha256.hex), { dir: '.' }, NOW).digests).toEqual([md5, sha256]);
    expect(() => together('d'.repeat(64))).toThrow(/--checksum says .*, f\.meta4 says /);
  });

  test('checks the strongest piece digests, and among them the smallest pieces', () => {
    const weak = { ...pieces, algorithm: 'md5', pieceBytes: 1 } as const;
    const large = { ...pieces, pieceBytes: 9 };
    expect(bestPieces([weak, large, pieces])).toBe(pieces);
    expect(bestPieces([])).toBeUndefined();
  });
});

describe('choosing files', () => {
  const named = (name: string, os: string[] = [], languages: string[] = []) => ({
    ...emptyFile(name),
    os,
    languages,
  });
  const description = {
    files: [
      named('linux/tool', ['Linux-x86_64']),
      named('windows/tool', ['Windows-x86'], ['en-US']),
      named('manual-de.pdf', [], ['de']),
      named('manual-en.pdf', [], ['en', 'fr']),
      named('tool'),
    ],
    extra: [],
  };
  const chosen = (choice?: Parameters<typeof chooseFiles>[1]) =>
    chooseFiles(description, choice).map(({ name }) => name);

  test('takes all files without a choice', () => {
    expect(chosen()).toEqual(description.files.map(({ name }) => name));
    expect(chosen({ names: undefined })).toHaveLength(5);
  });

  test.each([
    [
      ['manual-en.pdf', 'linux/tool'],
      ['linux/tool', 'manual-en.pdf'],
    ],
    // A file's whole name takes precedence over the last part of another file's name.
    [['tool'], ['tool']],
    [['tool', 'tool'], ['tool']],
  ])('by name: %j', (names, files) => {
    expect(chosen({ names })).toEqual(files);
  });

  test('by the last part of the name', () => {
    const files = description.files.slice(0, 2);
    expect(chooseFiles({ files, extra: [] }, { names: ['tool'] })).toEqual(files);
  });

  test('by operating system and language', () => {
    expect(chosen({ os: 'linux' })).toEqual([
      'linux/tool',
      'manual-de.pdf',
      'manual-en.pdf',
      'tool',
    ]);
    expect(chosen({ os: 'WINDOWS', language: 'en' })).toEqual([
      'windows/tool',
      'manual-en.pdf',
      'tool',
    ]);
    expect(chosen({ language: 'en-GB' })).toEqual(['linux/tool', 'tool']);
    expect(chosen({ os: 'lin' })).not.toContain('linux/tool');
  });

  test('unknown names, and choices that leave no file, are refused', () => {
    const refused = (detail: string) => expect.objectContaining({ code: 'bad-option', detail });
    expect(() => chosen({ names: ['manual-dd.pdf'] })).toThrow(
      refused('no file is called manual-dd.pdf; did you mean manual-de.pdf?'),
    );
    expect(() => chosen({ names: ['zzz'] })).toThrow(refused('no file is called zzz'));
    expect(() => chosen({ names: ['linux/tool'], os: 'macos' })).toThrow(
      refused('there is no file for macos'),
    );
    expect(() => chosen({ names: [] })).toThrow(refused('no name is given'));
  });
});

describe('a description of a download', () => {
  const facts = {
    name: 'f.iso',
    size: 5,
    urls: [
      'https://me:secret@a.example/f?x=1',
      'https://first.example/f',
      'https://a.example/f?x=1',
    ],
    digests: [sha256],
    pieces,
  };

  test('can be written, read back and downloaded', () => {
    const written = formatMetalink({ files: [describeDownload(facts)], extra: [] });
    expect(written).not.toContain('secret');
    const [read] = parseMetalink(written).files;
    expect(read && requestOf(read, { dir: '.' }, NOW)).toMatchObject({
      file: 'f.iso',
      urls: ['https://a.example/f?x=1', 'https://first.example/f'],
      digests: [sha256],
      pieces,
    });
    expect(read?.size).toBe(5);
  });

  test('keeps other members of the description that the download was started from', () => {
    const before = {
      ...file,
      version: '15',
      extra: [{ uri: 'u', local: 'x', attributes: [], content: [] }],
    };
    const after = describeDownload({ ...facts, pieces: undefined, size: undefined }, before);
    expect(after).toEqual({
      ...before,
      name: 'f.iso',
      size: 5,
      digests: [sha256],
      pieces: [pieces],
      replicas: [
        { url: 'https://a.example/f?x=1', priority: 1 },
        { url: 'https://first.example/f', priority: 2, location: 'de' },
        { url: 'ftp://ftp.example/f', priority: 1 },
      ],
    });
  });
});
