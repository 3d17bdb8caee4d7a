import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isMillraceError } from '../base/errors.ts';
import {
  blockBytesFor,
  type CodedExtent,
  type Exnode,
  type Extent,
  rootOf,
  type Sha256,
} from './exnode.ts';
import { formatExnode, parseExnode } from './exnode-text.ts';

const MIB = 2 ** 20;
const sha256: Sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const HEX = sha256(Buffer.from('block'));
/** Text of a key. */
const KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';

/** An exNode of a size, with the given extents. */
function exnodeOf(size: number, extents: readonly Extent[] = [], more: object = {}): Exnode {
  const pieceBytes = blockBytesFor(size);
  const hexes = Array.from({ length: Math.ceil(size / pieceBytes) }, () => HEX);
  const blocks = { algorithm: 'sha256', pieceBytes, hexes } as const;
  return { name: 'a.bin', size, blocks, root: rootOf(size, blocks, sha256), extents, ...more };
}

const replica = (read: string, at = 0) => ({ read, at });
const WHOLE = exnodeOf(3 * MIB, [
  { start: 0, end: 3 * MIB, replicas: [replica('https://a.example/x')] },
]);

/** A document with changed members. */
function changed(change: (document: Record<string, unknown>) => void): string {
  const document = JSON.parse(formatExnode(WHOLE, false));
  change(document);
  return JSON.stringify(document);
}

/** Returns the detail of the refusal of a text; undefined: it can be read. */
function fault(text: string): string | undefined {
  try {
    parseExnode(text, sha256);
    return undefined;
  } catch (error) {
    if (isMillraceError(error, 'bad-exnode')) return error.detail;
    throw error;
  }
}

/** Changes the only extent, or its only replica. */
const extent = (more: object) =>
  changed((document) => Object.assign((document.extents as object[])[0] as object, more));
const shard = (...replicas: object[]) => extent({ shards: [replicas] });

const DIGEST = Buffer.from(HEX, 'hex').toString('base64');
const CODED: CodedExtent = {
  ...{
    start: 0,
    end: 3 * MIB,
    data: 2,
    parity: 1,
    unit: MIB,
    parityHexes: [[HEX, sha256(Buffer.of())]],
  },
  shards: ['a', 'b', 'c'].map((host) => [replica(`https://${host}.example/x`)]),
};

/** Members of the file of `WHOLE` in coded shards. */
const STRIPED = { blocks: WHOLE.blocks, root: WHOLE.root, extents: [], coded: [CODED] };

/** A document with a coded extent, whose members are changed. */
function coded(more: object): string {
  const document = JSON.parse(formatExnode({ ...WHOLE, extents: [], coded: [CODED] }, false));
  Object.assign(document.extents[0], more);
  return JSON.stringify(document);
}

/** Short texts of huge extents would be many units. */
function manyUnits(): string {
  const size = 2 ** 34;
  const hexes = Array.from({ length: 8192 }, () => HEX);
  const one = { ...CODED, end: size, parityHexes: [hexes], shards: [[], [], []] };
  return formatExnode({ ...exnodeOf(size), coded: Array(5).fill(one) }, false);
}

describe('an exNode', () => {
  test('is read as it was written, also with members that have no meaning here', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 40 * MIB }),
        fc.array(fc.tuple(fc.nat(39), fc.nat(20), fc.nat(2 ** 40)), { maxLength: 6 }),
        fc.option(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(2e12) })),
        (size, drawn, date) => {
          const extents = drawn.flatMap(([block, blocks, at]): Extent[] => {
            const start = block * MIB;
            const end = Math.min(size, start + (blocks + 1) * MIB);
            if (start >= end) return [];
            const expires = date?.getTime();
            const places = [
              { read: 'https://a.example/x?y', at, expires, write: 'w', manage: 'm' },
              { read: 'http://[::1]:80/b', at: 0, unknown: { later: [1] } },
            ];
            return [{ start, end, replicas: places, unknown: { hint: 'x' } }];
          });
          const begun = extents.flatMap(({ start, end, replicas: [first] }) =>
            first === undefined ? [] : { start, end, replica: first },
          );
          const exnode = exnodeOf(size, extents, {
            begun,
            ...{ type: 'text/plain', sha256: HEX, unknown: { later: { a: 1 }, files: [] } },
          });
          const again = parseExnode(formatExnode(exnode, false), sha256);
          expect(JSON.parse(JSON.stringify(again))).toEqual(
            JSON.parse(JSON.stringify(exnode).replaceAll('http://[::1]:80/', 'http://[::1]/')),
          );
          expect(formatExnode(again, false)).toBe(formatExnode(again, false));
        },
      ),
    );
  });

  test('with coded shards is read as it was written, and older readers must refuse it', () => {
    const exnode: Exnode = { ...WHOLE, extents: [], coded: [{ ...CODED, unknown: { hint: 'x' } }] };
    const text = formatExnode(exnode, false);
    expect(JSON.parse(text).requires).toEqual(['codes']);
    expect(JSON.parse(formatExnode(WHOLE, false)).requires).toBe(undefined);
    expect(JSON.parse(JSON.stringify(parseExnode(text, sha256)))).toEqual(
      JSON.parse(JSON.stringify(exnode)),
    );
    const lost = { ...CODED, shards: CODED.shards.map((shard, i) => (i === 1 ? [] : shard)) };
    const again = parseExnode(formatExnode({ ...exnode, coded: [lost] }, true), sha256);
    expect(again.coded?.[0]?.shards[1]).toEqual([]);
  });

  test('to give away has no capability but that of reading', () => {
    const replicas = [{ ...replica('https://a.example/r'), write: 'W', manage: 'M' }];
    const begun = replicas.map((one) => ({ start: 0, end: MIB, replica: one }));
    const more = { documents: replicas, begun };
    const exnode = exnodeOf(MIB, [{ start: 0, end: MIB, replicas }], more);
    const text = formatExnode(exnode, true);
    expect(text).not.toMatch(/"W"|"M"|write|manage|documents|begun/);
    expect(formatExnode(exnode, false)).toMatch(/"W".*"M"/s);
    expect(parseExnode(text, sha256).root).toBe(exnode.root);
  });

  test('of an encrypted file has its key in the copy of the owner only', () => {
    const exnode = exnodeOf(MIB, [], { sealed: 'AAAA', key: KEY });
    expect(parseExnode(formatExnode(exnode, false), sha256)).toMatchObject(exnode);
    const shared = formatExnode(exnode, true);
    expect(shared).not.toContain(KEY);
    // Programs that cannot decrypt would take the ciphertext for the file.
    expect(JSON.parse(shared).requires).toEqual(['sealed']);
    expect(parseExnode(shared, sha256)).toMatchObject({ sealed: 'AAAA', key: undefined });
    const striped = formatExnode({ ...exnode, size: 3 * MIB, ...STRIPED }, false);
    expect(JSON.parse(striped).requires).toEqual(['sealed', 'codes']);
    expect(parseExnode(striped, sha256)).toMatchObject({ sealed: 'AAAA', key: KEY, ...STRIPED });
  });

  test('has few enough blocks, whatever its size', () => {
    expect(blockBytesFor(0)).toBe(MIB);
    expect(blockBytesFor(2 ** 34)).toBe(MIB);
    expect(blockBytesFor(2 ** 34 + 1)).toBe(2 * MIB);
    expect(blockBytesFor(2 ** 48)).toBe(2 ** 34);
  });

  test.each<[string, string, RegExp]>([
    ['no JSON', '{"exnode":1', /complete JSON/],
    ['another document', '{}', /not an exNode/],
    ['no object', 'null', /not an exNode/],
    ['a later version', '{"exnode":2}', /version 2 is not known/],
    ['no sealed part', changed((d) => Object.assign(d, { requires: ['sealed'] })), /sealed/],
    ['a sealed part', changed((d) => Object.assign(d, { sealed: '%' })), /sealed/],
    ['a key for nothing', changed((d) => Object.assign(d, { key: KEY })), /sealed/],
    ['no key', changed((d) => Object.assign(d, { sealed: 'AAAA', key: KEY.slice(1) })), /key/],
    [
      'what it requires',
      changed((d) => Object.assign(d, { requires: ['codes', 'later'] })),
      /later/,
    ],
    ['a wrong root', changed((d) => Object.assign(d, { root: HEX })), /root/],
    ['a digest too few', changed((d) => Object.assign(d, { digests: '' })), /3 SHA-256/],
    ['no base64', changed((d) => Object.assign(d, { digests: '****' })), /base64/],
    ['odd blocks', changed((d) => Object.assign(d, { blockBytes: 3 * MIB })), /power of two/],
    ['tiny blocks', changed((d) => Object.assign(d, { blockBytes: 1 })), /blockBytes/],
    ['too many blocks', changed((d) => Object.assign(d, { size: 2 ** 40 })), /16384 blocks/],
    ['a negative size', changed((d) => Object.assign(d, { size: -1 })), /size/],
    ['a size beyond all files', changed((d) => Object.assign(d, { size: 2 ** 50 })), /size/],
    ['an extent behind the file', extent({ length: 3 * MIB + 1 }), /ends behind the file/],
    ['an extent that begins in a block', extent({ start: 5, length: MIB - 5 }), /whole blocks/],
    ['an extent that ends in a block', extent({ start: 0, length: 5 }), /whole blocks/],
    ['an empty extent', extent({ length: 0 }), /length/],
    ['half a byte', extent({ start: 0.5 }), /start/],
    ['too few shards', extent({ data: 4, parity: 2 }), /as many shards/],
    ['an extent without a replica', shard(), /no replica/],
    ['data without parity', coded({ data: 2, parity: 0 }), /2\+0 shards/],
    ['too many data shards', coded({ data: 33 }), /33\+1 shards/],
    ['units of half a block', coded({ unit: 1.5 * MIB }), /whole blocks/],
    ['no unit', coded({ unit: undefined }), /whole blocks/],
    ['a huge unit', coded({ unit: 32 * MIB }), /unit/],
    ['a parity digest too few', coded({ parityDigests: '' }), /2 SHA-256/],
    ['a shard too few', coded({ shards: [[], []] }), /as many shards/],
    ['replicas of nothing', coded({ length: MIB, unit: 2 * MIB, parityDigests: DIGEST }), /empty/],
    ['too many units', manyUnits(), /65536 units/],
    ['a file URL', shard({ read: 'file:///etc/passwd' }), /extents.0.shards.0.0.read/],
    ['a password', shard({ read: 'https://u:p@a.example/' }), /user name or password/],
    ['no URL', shard({ read: 'x' }), /cannot be fetched/],
    ['too long a URL', shard({ read: `https://a.example/${'x'.repeat(9000)}` }), /read/],
    ['too many replicas', shard(...Array(65).fill(replica('http://a.example/'))), /shards/],
    ['nested values', `{"exnode":1,"x":${'['.repeat(40)}${']'.repeat(40)}}`, /inside each other/],
  ])('with %s is refused, and the error says why', (_, text, why) => {
    expect(fault(text)).toMatch(why);
  });

  test('of 16 MiB of nesting, values or text is refused before it is read', () => {
    expect(fault('['.repeat(16 * MIB))).toMatch(/inside each other/);
    expect(fault(`{"exnode":1,"x":[${'0,'.repeat(8 * MIB - 20)}0]}`)).toMatch(/too many values/);
    expect(fault(`"${'\\"'.repeat(8 * MIB)}"`)).toMatch(/longer than 16 MiB/);
  });

  test('with more replicas than a program can keep is refused', () => {
    const many = Array(64).fill(replica('http://a.example/'));
    const one = { start: 0, length: MIB, shards: [many] };
    const text = changed((document) => Object.assign(document, { extents: Array(1025).fill(one) }));
    expect(fault(text)).toMatch(/65536 replicas/);
  });
});
