/**
 * Reads the lists of blocks that publishers put beside files as NAME.zsync, in the format of zsync 0.6:
 * header lines, an empty line, and for each block a rolling sum and the beginning of its MD4.
 */

import { type Digest, digestFromHex } from '../base/digest.ts';
import { MillraceError } from '../base/errors.ts';

/** Largest list of blocks that is read: enough for 11 GB in blocks of 2 KiB. */
export const MAX_ZSYNC_BYTES = 64 * 1024 * 1024;
/** Most blocks of a file. */
const MAX_ZSYNC_BLOCKS = 4 * 1024 * 1024;
const MIN_BLOCK_BYTES = 256;
const MAX_BLOCK_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;
/** Longest file, in bytes. */
const MAX_LENGTH = 2 ** 48;
/** Bytes of a whole rolling sum, and of a whole MD4. */
const SUM_BYTES = 4;
const MD4_BYTES = 16;
/** Fewest bytes of MD4, as in zsync. */
const MIN_MD4_BYTES = 3;

/** The blocks of a file, by which those that an older file has can be found. */
export interface ZsyncFile {
  /** Bytes of the file. */
  readonly length: number;
  /** Bytes of each block; zeros fill the last one up. */
  readonly blockBytes: number;
  /** Number of blocks. */
  readonly count: number;
  /** Blocks in a row that must match before the first of them counts: 1 or 2. */
  readonly inRow: 1 | 2;
  /** Bits of the rolling sum that the list has. */
  readonly sumMask: number;
  /** Rolling sums, cut to those bits. */
  readonly sums: Uint32Array;
  /** Bytes of each MD4 that the list has. */
  readonly md4Bytes: number;
  /** The beginnings of all MD4, one after the other. */
  readonly md4s: Uint8Array;
  /** Digest of the whole file. */
  readonly digest: Digest;
}

/** Header fields that say nothing about where bytes are. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['zsync', 'min-version', 'filename', 'z-filename', 'url', 'z-url', 'mtime', 'safe'],
]);
const COMPRESSED: ReadonlySet<string> = new Set(['z-map2', 'recompress']);
const KNOWN: ReadonlySet<string> = new Set(['blocksize', 'length', 'hash-lengths', 'sha-1']);

/**
 * Reads a list of blocks.
 *
 * @throws MillraceError `bad-zsync`; also for a list without a digest of the whole file, because the
 *   sums of blocks are too short to prove anything, and for one about the content of a compressed file
 */
export function parseZsync(file: Uint8Array): ZsyncFile {
  if (file.length > MAX_ZSYNC_BYTES) throw bad('it is too large');
  const { fields, end } = readHeader(file);
  const length = wholeNumber(fields, 'length', 0, MAX_LENGTH);
  const blockBytes = wholeNumber(fields, 'blocksize', MIN_BLOCK_BYTES, MAX_BLOCK_BYTES);
  if ((blockBytes & (blockBytes - 1)) !== 0) throw bad('its block size is no power of two');
  const count = Math.ceil(length / blockBytes);
  if (count > MAX_ZSYNC_BLOCKS) throw bad('it has too many blocks');
  const { inRow, sumBytes, md4Bytes } = hashLengths(fields.get('hash-lengths') ?? '1,4,16');
  const digest = digestFromHex('sha1', fields.get('sha-1') ?? '');
  if (digest === undefined) throw bad('it has no digest of the whole file');
  const blocks = file.subarray(end);
  if (blocks.length !== count * (sumBytes + md4Bytes)) throw bad('its blocks are incomplete');
  const sums = new Uint32Array(count);
  const md4s = new Uint8Array(count * md4Bytes);
  for (let i = 0, at = 0; i < count; i++, at += sumBytes + md4Bytes) {
    let sum = 0;
    for (let j = 0; j < sumBytes; j++) sum = ((sum << 8) | (blocks[at + j] as number)) >>> 0;
    sums[i] = sum;
    md4s.set(blocks.subarray(at + sumBytes, at + sumBytes + md4Bytes), i * md4Bytes);
  }
  const sumMask = 0xffffffff >>> (8 * (SUM_BYTES - sumBytes));
  return { length, blockBytes, count, inRow, sumMask, sums, md4Bytes, md4s, digest };
}

/** Reads the header. @returns its fields, by names in lower case, and where the blocks begin */
function readHeader(file: Uint8Array): { fields: ReadonlyMap<string, string>; end: number } {
  const head = file.subarray(0, MAX_HEADER_BYTES);
  const gap = head.findIndex((byte, i) => byte === 0x0a && head[i + 1] === 0x0a);
  if (gap < 0) throw bad('its header does not end');
  const fields = new Map<string, string>();
  // Only ASCII matters: names of files may be in any encoding.
  for (const line of new TextDecoder('latin1').decode(head.subarray(0, gap)).split('\n')) {
    const colon = line.indexOf(': ');
    if (colon <= 0) throw bad('a line of its header is malformed');
    const name = line.slice(0, colon).toLowerCase();
    // A list may name several URLs.
    if (KNOWN.has(name) && fields.has(name)) throw bad(`it says ${name} twice`);
    fields.set(name, line.slice(colon + 2));
  }
  if (!fields.has('zsync')) throw bad('it does not begin as a list of blocks does');
  const safe = new Set((fields.get('safe') ?? '').toLowerCase().split(/\s+/));
  for (const name of fields.keys()) {
    if (COMPRESSED.has(name)) throw bad('it describes what is inside of a compressed file');
    if (KNOWN.has(name) || HARMLESS.has(name) || safe.has(name)) continue;
    throw bad('it needs a newer program');
  }
  return { fields, end: gap + 2 };
}

function wholeNumber(
  fields: ReadonlyMap<string, string>,
  name: string,
  least: number,
  most: number,
): number {
  const text = fields.get(name) ?? '';
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw bad(`its ${name} is missing or out of bounds`);
}

/** Reads `blocks in a row,bytes of the sum,bytes of MD4`. */
function hashLengths(text: string): { inRow: 1 | 2; sumBytes: number; md4Bytes: number } {
  const [, row, sum, md4] = /^([12]),([1-4]),(\d{1,2})$/.exec(text) ?? [];
  const [inRow, sumBytes, md4Bytes] = [Number(row), Number(sum), Number(md4)];
  if (!(md4Bytes >= MIN_MD4_BYTES && md4Bytes <= MD4_BYTES)) {
    throw bad('its hash-lengths are out of bounds');
  }
  return { inRow: inRow === 2 ? 2 : 1, sumBytes, md4Bytes };
}

const bad = (detail: string) => new MillraceError('bad-zsync', detail);
