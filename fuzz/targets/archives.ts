/**
 * Archives of folders: tars from strangers, of which only files with a known digest are accepted.
 */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { MAX_HEADER_BYTES } from '../../desktop/engine/archive/tar-entries.ts';
import { readTar } from '../../desktop/engine/sync/tar-reader.ts';
import { isMillraceError } from '../../shared/src/base/errors.ts';
import type { SyncFile } from '../../shared/src/sync/manifest.ts';
import { mutatedBytes, mutatedJson } from '../mutate.ts';
import { fuzzTarget, hold, type Verdict } from '../target.ts';

const BLOCK = 512;
const CHECKSUM_AT = 148;
const CHECKSUM_BYTES = 8;
const MAGIC_AT = 257;
const MAGIC = Buffer.from('ustar');
const SIGNAL = new AbortController().signal;

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const LONG_PATH = `${'folder/'.repeat(30)}file`;
const BODIES = new Map<string, Buffer>([
  ['a.txt', Buffer.from('abc')],
  ['b/empty', Buffer.alloc(0)],
  ['b/large', Buffer.alloc(1500, 'xyz')],
  [LONG_PATH, Buffer.from('at a long path')],
]);
const WANTED = new Map<string, SyncFile>(
  [...BODIES].map(([path, body]) => [
    path,
    { path, size: body.length, sha256: digestOf(body), mode: '644', modified: 0 },
  ]),
);

/** One entry; mutations may put any value into a field. */
interface Entry {
  readonly name?: unknown;
  readonly type?: unknown;
  /** Stated size in bytes; default: the body's length. */
  readonly size?: unknown;
  readonly body?: unknown;
}

const file = (name: string): Entry => ({ name, type: '0', body: BODIES.get(name)?.toString() });

/** Formats a pax record. It states its own length, which includes the digits of that length. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

const PLAIN = [file('a.txt'), { name: 'b/', type: '5' }, file('b/empty'), file('b/large')];
const SEEDS: readonly (readonly Entry[])[] = [
  [
    ...PLAIN,
    { name: 'PaxHeader', type: 'x', body: paxRecord('path', LONG_PATH) },
    { ...file(LONG_PATH), name: 'short' },
  ],
  [
    { name: 'global', type: 'g', body: paxRecord('comment', 'x') },
    { name: 'unwanted', type: '0', body: 'not asked for' },
    { name: 'a.txt', type: '2' },
    { name: '././@LongLink', type: 'L', body: `${LONG_PATH}\0` },
    { ...file(LONG_PATH), name: 'short' },
    ...PLAIN,
    { ...file('a.txt'), body: 'abd' },
  ],
];

const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null;

function tarOf(entries: unknown): Buffer {
  const blocks = (Array.isArray(entries) ? entries : []).filter(isEntry).flatMap(entryBlocks);
  return Buffer.concat([...blocks, NO_BYTES]);
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : `${JSON.stringify(value)}`);

/** The end of an archive. */
const NO_BYTES = Buffer.alloc(2 * BLOCK);

/** A header with the fields that all entries have in common. */
const HEADER = Buffer.alloc(BLOCK);
HEADER.write('0000644\0', 100);
HEADER.write('0000000\0', 108);
HEADER.write('0000000\0', 116);
HEADER.write('00000000000\0', 136);
HEADER.write(`${MAGIC}\x0000`, MAGIC_AT);

function entryBlocks({ name, type, size, body }: Entry): Buffer[] {
  const bytes = Buffer.from(typeof body === 'string' ? body : '');
  const header = Buffer.from(HEADER);
  header.write(textOf(name), 0, 100);
  const stated = size === undefined ? bytes.length : size;
  header.write(
    typeof stated === 'number'
      ? Math.abs(Math.trunc(stated)).toString(8).padStart(11, '0')
      : textOf(stated),
    124,
    12,
  );
  header.write(textOf(type ?? '0'), 156, 1);
  seal(header);
  const padding = NO_BYTES.subarray(0, (BLOCK - (bytes.length % BLOCK)) % BLOCK);
  return [header, bytes, padding];
}

function seal(header: Buffer): void {
  header.fill(' ', CHECKSUM_AT, CHECKSUM_AT + CHECKSUM_BYTES);
  let sum = 0;
  for (let at = 0; at < BLOCK; at++) sum += header[at] as number;
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM_AT);
}

/** Renews the checksums of damaged headers: readers would reject them by the checksum alone. */
function sealed(bytes: Buffer): Buffer {
  for (let at = 0; at + BLOCK <= bytes.length; at += BLOCK) {
    if (bytes.compare(MAGIC, 0, MAGIC.length, at + MAGIC_AT, at + MAGIC_AT + MAGIC.length) === 0)
      seal(bytes.subarray(at, at + BLOCK));
  }
  return bytes;
}

async function check(tar: Buffer): Promise<Verdict> {
  const placed: string[] = [];
  let pieces: Uint8Array[] = [];
  let open = 0;
  // Pieces that end in the middle of headers, as reads from a disk may.
  const cut = [0, 700, 701, 4096].filter((at) => at <= tar.length);
  const source = Readable.from(cut.map((at, i) => tar.subarray(at, cut[i + 1])));
  let refused = false;
  try {
    await readTar(
      source,
      WANTED,
      {
        async open(wanted) {
          hold(WANTED.get(wanted.path) === wanted, 'only wanted files are opened');
          hold(++open === 1, 'one file is open at a time');
          pieces = [];
          return {
            async write(piece) {
              pieces.push(piece);
            },
            async close() {
              open--;
            },
          };
        },
        async place({ path, sha256 }) {
          hold(digestOf(Buffer.concat(pieces)) === sha256, 'a placed file has its digest');
          placed.push(path);
        },
      },
      SIGNAL,
    );
  } catch (error) {
    if (!isMillraceError(error) || error.code !== 'malformed-response') throw error;
    const { cause } = error as Error;
    if (cause instanceof Error && cause.message.startsWith('does not hold')) throw cause;
    refused = true;
  }
  hold(open === 0, 'every file is closed');
  hold(source.destroyed, 'the source is closed');
  hold(new Set(placed).size === placed.length, 'each file is placed once');
  if (refused || placed.length < WANTED.size) return 'refused';
}

export const targets = [
  fuzzTarget({
    name: 'tar',
    asynchronous: true,
    cases: fc.oneof(
      mutatedJson(SEEDS).map(tarOf),
      mutatedBytes(SEEDS.map(tarOf)).map(sealed),
      mutatedBytes(SEEDS.map(tarOf)),
    ),
    check,
    long: {
      'a pax header of many records': () =>
        tarOf([{ name: 'x', type: 'x', body: paxRecord('a', 'b').repeat(100_000) }, ...PLAIN]),
      'a pax header that never ends': () =>
        tarOf([
          { name: 'x', type: 'x', size: 8 ** 11 - 1, body: 'x'.repeat(4 * MAX_HEADER_BYTES) },
        ]),
      'many entries': () => tarOf(Array.from({ length: 3000 }, () => file('a.txt'))),
      'many empty blocks': () => Buffer.alloc(2 * MAX_HEADER_BYTES),
    },
  }),
];
