import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { requestOf } from '../metalink/described-request.ts';
import type { HashOf } from './merkle.ts';
import * as made from './testing/torrents.ts';
import { parseTorrent } from './torrent.ts';

const hashOf: HashOf = (algorithm, bytes) => createHash(algorithm).update(bytes).digest();
const read = (document: Uint8Array) => parseTorrent(document, hashOf);
const ZEROS = /^0+$/;
const NAMES = made.FILES.map(([name]) => `folder/${name}`);

describe('torrents of other programs', () => {
  const singles = { 'version 1': made.SINGLE_V1, '2': made.SINGLE_V2, both: made.SINGLE_HYBRID };
  const several = { 'version 1': made.SEVERAL_V1, '2': made.SEVERAL_V2, both: made.SEVERAL_HYBRID };

  test.each(Object.entries(singles))('one file, %s', (_, { document, v1, v2 }) => {
    const { files, infoHashes } = read(document);
    expect(files.map(({ name, size }) => [name, size])).toEqual([['one.bin', made.ONE_BYTES]]);
    expect(infoHashes.v1 ?? '0'.repeat(40)).toBe(v1);
    expect(infoHashes.v2 ?? '0'.repeat(64)).toBe(v2);
    expect(files[0]?.pieces).toHaveLength(1);
    expect(files[0]?.pieces[0]?.from).toBeUndefined();
  });

  test.each(Object.entries(several))('several files, %s', (_, { document, v1, v2 }) => {
    const { files, infoHashes } = read(document);
    // Padding between the files of a hybrid is left out.
    expect(files.map(({ name, size }) => [name, size]).sort()).toEqual(
      made.FILES.map(([name, size]) => [`folder/${name}`, size]),
    );
    expect(infoHashes.v1 ?? '').toBe(ZEROS.test(v1) ? '' : v1);
    expect(infoHashes.v2 ?? '').toBe(ZEROS.test(v2) ? '' : v2);
  });

  test('pieces of version 1 that two files share prove neither of them', () => {
    const { files } = read(made.SEVERAL_V1.document);
    expect(files.map(({ name }) => name)).toEqual(NAMES);
    const [a, b, z] = files.map(({ pieces }) => pieces[0]);
    // Two pieces of 16384 bytes end in the first file of 40000; the third piece goes on to the last file.
    expect(a).toMatchObject({ from: 0, pieceBytes: 16384 });
    expect(a?.hexes).toHaveLength(2);
    expect(b?.hexes).toEqual([]);
    expect(z).toMatchObject({ from: 3 * 16384 - 40_100 });
    // The last piece of the torrent is shorter.
    expect(z?.hexes).toHaveLength(4);
    const bytes = made.contentOf(2, 70_000).subarray(3 * 16384 - 40_100);
    const digest = (from: number) =>
      createHash('sha1')
        .update(bytes.subarray(from, from + 16384))
        .digest('hex');
    expect(z?.hexes).toEqual([0, 16384, 2 * 16384, 3 * 16384].map(digest));
  });
});

test('web seeds that end in a slash get the names of all files', () => {
  const single = made.withSeeds(made.SINGLE_V1.document, [
    'http://a.example/dir/',
    'https://b.example/other name.bin',
    'ftp://c.example/one.bin',
    'http://user:secret@d.example/one.bin',
    'no link',
  ]);
  expect(read(single).files[0]?.replicas.map(({ url }) => url)).toEqual([
    'http://a.example/dir/one.bin',
    'https://b.example/other%20name.bin',
  ]);
  const many = made.withSeeds(made.SEVERAL_V1.document, [
    'http://a.example/x',
    'http://b.example/',
  ]);
  expect(read(many).files.map(({ replicas }) => replicas.map(({ url }) => url))).toEqual(
    ['a.bin', 'inside/b%20c.bin', 'z.bin'].map((path) => [
      `http://a.example/x/folder/${path}`,
      `http://b.example/folder/${path}`,
    ]),
  );
});

test('web seeds by the user come first, and are known as theirs', () => {
  const document = made.withSeeds(made.SEVERAL_V1.document, ['http://a.example/']);
  const { files, named } = parseTorrent(document, hashOf, {
    mirrors: ['http://10.0.0.1/x', 'ftp://a.example/', 'http://['],
    seeds: ['http://b.example/'],
  });
  expect(files[2]?.replicas.map(({ url }) => url)).toEqual([
    'http://10.0.0.1/x/folder/z.bin',
    'http://a.example/folder/z.bin',
    'http://b.example/folder/z.bin',
  ]);
  expect([...named]).toEqual(
    ['a.bin', 'inside/b%20c.bin', 'z.bin'].map((name) => `http://10.0.0.1/x/folder/${name}`),
  );
});

test('web seeds with more characters than there is room for are left out', () => {
  const files = Array.from({ length: 10_000 }, (_, i) => file([`${i}`]));
  const seed = (name: string) => `http://a.example/${name.repeat(600)}/`;
  const torrent = document({
    info: {
      name: 'folder',
      files,
      'piece length': 16384,
      pieces: 'x'.repeat(20 * Math.ceil((10 * files.length) / 16384)),
    },
    'url-list': ['a', 'b', 'c', 'd'].map(seed),
  });
  const read = parseTorrent(torrent, hashOf);
  expect(read.files[9999]?.replicas.map(({ url }) => url)).toEqual(
    ['a', 'b'].map((name) => `${seed(name)}folder/9999`),
  );
});

test('a file that no web server is named for says so', () => {
  const [file] = read(made.SINGLE_V1.document).files;
  const request = () => requestOf(file as NonNullable<typeof file>, { dir: '.' }, 0);
  expect(request).toThrow(expect.objectContaining({ code: 'no-web-seed', detail: 'one.bin' }));
});

/** Writes bencoding. */
function encoded(value: unknown): string {
  if (typeof value === 'number') return `i${value}e`;
  if (typeof value === 'string') return `${Buffer.byteLength(value)}:${value}`;
  if (Array.isArray(value)) return `l${value.map(encoded).join('')}e`;
  const entries = Object.entries(value as object);
  return `d${entries.map(([key, one]) => encoded(key) + encoded(one)).join('')}e`;
}

const PIECE = 'x'.repeat(20);
const info = (change: object) => ({
  info: { name: 'folder', 'piece length': 16384, pieces: PIECE, ...change },
});
const file = (path: string[], more: object = {}) => ({ length: 10, path, ...more });
const document = (value: unknown) => Buffer.from(encoded(value));

test('padding and links are left out, and digests of whole files are taken', () => {
  const sha1 = 'a9993e364706816aba3e25717850c26c9cd0d89d';
  const { files } = read(
    document(
      info({
        files: [
          file(['a'], { sha1, md5: 'no digest' }),
          file(['.pad', '10'], { attr: 'p' }),
          file(['_____padding_file_0_x']),
          file(['b'], { attr: 'xl', 'symlink path': ['..', 'etc'] }),
          file(['c'], { attr: 'x' }),
        ],
      }),
    ),
  );
  expect(files.map(({ name }) => name)).toEqual(['folder/a', 'folder/c']);
  expect(files[0]?.digests).toEqual([{ algorithm: 'sha1', hex: sha1 }]);
});

test.each<[string, unknown, RegExp]>([
  ['a path that leaves the folder', info({ files: [file(['..', 'x'])] }), /"\.\."/],
  ['a path with a slash', info({ files: [file(['a/../../x'])] }), /slash/],
  ['a path with a backslash', info({ files: [file(['a\\b'])] }), /backslash/],
  ['an empty part', info({ files: [file([''])] }), /empty part/],
  ['an absolute name', info({ name: 'C:', files: [file(['x'])] }), /absolute/],
  ['names that become the same', info({ files: [file(['a:']), file(['a*'])] }), /same name/],
  ['no files', info({ files: [] }), /pieces does not fit/],
  ['files and a length', info({ files: [file(['a'])], length: 1 }), /of one file/],
  ['too few digests', info({ length: 20_000 }), /does not fit/],
  ['a negative length', info({ length: -1 }), /length is missing or wrong/],
  ['pieces of no length', info({ length: 1, 'piece length': 0 }), /out of bounds/],
  ['a later version', info({ length: 1, 'meta version': 3 }), /version is unknown/],
  ['no torrent', { nothing: 1 }, /info is missing/],
])('a torrent with %s is refused', (_, value, why) => {
  expect(() => read(document(value))).toThrow(
    expect.objectContaining({ code: 'bad-metalink', detail: expect.stringMatching(why) }),
  );
});

test('digests of pieces that do not lead to the root of their file are refused', () => {
  const altered = Buffer.from(made.SINGLE_V2.document);
  const at = altered.indexOf('piece layers') + 80;
  altered[at] = (altered[at] as number) ^ 1;
  expect(() => read(altered)).toThrow(/are not those of the file/);
});

test('a hybrid whose two lists differ is refused', () => {
  const text = Buffer.from(made.SEVERAL_HYBRID.document)
    .toString('latin1')
    .replace('5:a.bin', '5:q.bin');
  expect(() => read(Buffer.from(text, 'latin1'))).toThrow(/two lists of files differ/);
});

test.each([
  ['a number with a zero in front', 'd1:ai01ee', /a number is wrong, at byte 5/],
  ['minus zero', 'd1:ai-0ee', /a number is wrong/],
  ['a number beyond all that are exact', 'd1:ai99999999999999999ee', /not bencoding|is wrong/],
  ['a string that goes too far', 'd1:a9:bce', /goes too far/],
  ['a key that is there twice', 'd1:ai1e1:ai2ee', /twice, at byte 7/],
  ['a key that is no string', 'di1ei1ee', /not bencoding/],
  ['no end', 'd1:ai1e', /not bencoding/],
  ['more after its end', 'd1:ai1eee', /follows its end/],
  ['lists inside of lists', `${'l'.repeat(100)}${'e'.repeat(100)}`, /inside of each other/],
])('bencoding with %s is refused', (_, text, why) => {
  expect(() => read(Buffer.from(text))).toThrow(why);
});
