/**
 * Reads and writes exNodes: JSON documents, which anyone may publish. The reader bounds all of a
 * document: its length, its depth, its values, blocks, extents and replicas. An exNode names no
 * other exNode, so reading one never leads to reading another. Unknown members are kept; what a
 * document says is required is refused if it is not known here.
 */

import * as z from 'zod';
import { type ByteRange, rangeBytes } from '../base/byte-range.ts';
import { type PieceDigests, toHex } from '../base/digest.ts';
import { isMillraceError, MillraceError } from '../base/errors.ts';
import { shown } from '../base/shown.ts';
import { MAX_DATA, MAX_PARITY } from '../code/reed-solomon.ts';
import { parseOriginUrl } from '../http/urls/prefixed-url.ts';
import { tryRead } from '../schema/read.ts';
import { columnsOf, MAX_UNIT_BYTES, MAX_UNITS, shardBytes } from './coded.ts';
import {
  bytesOfHex,
  type CodedExtent,
  type Exnode,
  type ExnodeReplica,
  type Extent,
  MAX_ALL_REPLICAS,
  MAX_EXNODE_BLOCKS,
  MAX_EXNODE_BYTES,
  MAX_EXNODE_SIZE,
  MAX_EXTENTS,
  MAX_REPLICAS,
  MIN_BLOCK_BYTES,
  rootOf,
  type Sha256,
} from './exnode.ts';
import { isKeyText, MAX_SEALED_BYTES } from './seal.ts';

const VERSION = 1;
/** Features that a document may require of its reader: the member of encrypted files, coded shards. */
const SEALED = 'sealed';
const CODES = 'codes';
const KNOWN: ReadonlySet<string> = new Set([SEALED, CODES]);
/** Most values inside each other, and most values of all. */
const MAX_DEPTH = 32;
const MAX_VALUES = 1_000_000;
const DIGEST_BYTES = 32;
const MAX_SEALED_TEXT = Math.ceil(MAX_SEALED_BYTES / 3) * 4;

const SHA256 = z.string().regex(/^[0-9a-f]{64}$/);
const URL_TEXT = z.string().max(8192);
const POSITION = z.int().min(0).max(MAX_EXNODE_SIZE);
const REPLICA = z.looseObject({
  read: URL_TEXT,
  at: POSITION.default(0),
  expires: z.iso.datetime().optional(),
  write: URL_TEXT.optional(),
  manage: URL_TEXT.optional(),
});
const EXTENT = z.looseObject({
  start: POSITION,
  length: POSITION.min(1),
  data: z.int().default(1),
  parity: z.int().default(0),
  unit: z.int().min(MIN_BLOCK_BYTES).max(MAX_UNIT_BYTES).optional(),
  parityDigests: z.string().optional(),
  shards: z
    .array(z.array(REPLICA).max(MAX_REPLICAS))
    .min(1)
    .max(MAX_DATA + MAX_PARITY),
});
const DOCUMENT = z.looseObject({
  name: z.string().min(1).max(1024),
  type: z.string().max(255).optional(),
  size: POSITION,
  sha256: SHA256.optional(),
  blockBytes: z.int().min(MIN_BLOCK_BYTES).max(MAX_EXNODE_SIZE),
  digests: z.string().max(Math.ceil((MAX_EXNODE_BLOCKS * DIGEST_BYTES) / 3) * 4),
  root: SHA256,
  sealed: z.base64().max(MAX_SEALED_TEXT).optional(),
  key: z.string().max(64).optional(),
  requires: z.array(z.string().max(64)).max(64).default([]),
  extents: z.array(EXTENT).max(MAX_EXTENTS),
  documents: z.array(REPLICA).max(MAX_REPLICAS).optional(),
  begun: z
    .array(
      z.looseObject({
        ...REPLICA.shape,
        start: POSITION,
        length: POSITION.min(1),
        shard: z
          .int()
          .min(0)
          .max(MAX_DATA + MAX_PARITY - 1)
          .optional(),
      }),
    )
    .max(MAX_ALL_REPLICAS)
    .optional(),
});

type ReadExtent = z.output<typeof EXTENT>;
type ReadReplica = z.output<typeof REPLICA>;

/**
 * Reads an exNode.
 *
 * @throws MillraceError `bad-exnode`, with the first fault
 */
export function parseExnode(text: string, sha256: Sha256): Exnode {
  if (text.length > MAX_EXNODE_BYTES) throw bad('it is longer than 16 MiB');
  checkNesting(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw bad('it is not a complete JSON document');
  }
  const version = (value as { exnode?: unknown } | null)?.exnode;
  if (version === undefined) throw bad('it is not an exNode');
  if (version !== VERSION) throw bad(`version ${shown(JSON.stringify(version))} is not known here`);
  const read = tryRead(DOCUMENT, value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw bad(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { name, type, size, blockBytes, digests, root, requires, extents, ...more } = read.data;
  const { exnode: _, sha256: digest, documents, begun, sealed, key, ...unknown } = more;
  const required = requires.find((feature) => !KNOWN.has(feature));
  if (required !== undefined) throw bad(`it requires ${shown(required)}, which is not known here`);
  if (sealed === undefined && (requires.includes(SEALED) || key !== undefined)) {
    throw bad('the sealed part of an encrypted file is missing');
  }
  if (key !== undefined && !isKeyText(key)) throw bad('key is not a key');
  const blocks = readBlocks(size, blockBytes, digests);
  if (rootOf(size, blocks, sha256) !== root) throw bad('its root is not that of its digests');
  let replicas = 0;
  for (const { shards } of extents) {
    for (const { length } of shards) replicas += length;
    if (replicas > MAX_ALL_REPLICAS) throw bad(`it has more than ${MAX_ALL_REPLICAS} replicas`);
  }
  const found: Extent[] = [];
  const coded: CodedExtent[] = [];
  for (const [i, extent] of extents.entries()) {
    const where = `extents.${i}`;
    const { data, parity } = extent;
    const range = rangeOf(extent, size, blockBytes, where);
    if (data === 1 && parity === 0) found.push(readExtent(extent, range, where));
    else coded.push(readCoded(extent, range, blockBytes, where));
  }
  const units = coded.reduce((sum, one) => sum + rangeBytes(one) / one.unit, 0);
  if (units > MAX_UNITS) throw bad(`it has more than ${MAX_UNITS} units`);
  return {
    ...{ name, type, size, sha256: digest, blocks, root, extents: found, sealed, key },
    coded: coded.length === 0 ? undefined : coded,
    documents: documents?.map((one, i) => readReplica(one, `documents.${i}`)),
    begun: begun?.map(({ start, length, shard, ...one }, i) => ({
      ...{ start, end: start + length, shard },
      replica: readReplica(one, `begun.${i}`),
    })),
    unknown: kept(unknown),
  };
}

/**
 * Writes an exNode, one extent per line.
 *
 * @param isShared true for a copy to give away: it lets nobody change or delete what is stored
 */
export function formatExnode(exnode: Exnode, isShared: boolean): string {
  const { name, type, size, sha256, blocks, root, extents, coded = [], sealed, unknown } = exnode;
  const digests = base64(blocks.hexes);
  const documents = isShared
    ? undefined
    : exnode.documents?.map((one) => writtenReplica(one, false));
  const begun = isShared
    ? undefined
    : exnode.begun?.map(({ start, end, replica, shard }) => ({
        ...writtenReplica(replica, false),
        ...{ start, length: end - start, shard },
      }));
  const requires = [
    ...(sealed === undefined ? [] : [SEALED]),
    ...(coded.length === 0 ? [] : [CODES]),
  ];
  const head = {
    ...{ exnode: VERSION, name, type, size, sha256, documents, begun },
    blockBytes: blocks.pieceBytes,
    // Readers that do not know encrypted files would take the ciphertext for the file.
    ...(requires.length === 0 ? {} : { requires }),
    ...(sealed === undefined ? {} : { sealed }),
    ...(isShared ? {} : { key: exnode.key }),
  };
  const lines = [
    ...extents.map((extent) => JSON.stringify(written(extent, isShared))),
    ...coded.map((extent) => JSON.stringify(writtenCoded(extent, isShared))),
  ];
  const start = JSON.stringify({ ...unknown, ...head, root, digests }).slice(0, -1);
  return `${start},"extents":[\n${lines.join(',\n')}\n]}\n`;
}

function written({ start, end, replicas, unknown }: Extent, isShared: boolean): object {
  const shard = replicas.map((replica) => writtenReplica(replica, isShared));
  return { ...unknown, start, length: end - start, shards: [shard] };
}

function writtenCoded(extent: CodedExtent, isShared: boolean): object {
  const { start, end, data, parity, unit, parityHexes, shards, unknown } = extent;
  return {
    ...unknown,
    ...{ start, length: end - start, data, parity, unit },
    parityDigests: base64(parityHexes.flat()),
    shards: shards.map((shard) => shard.map((replica) => writtenReplica(replica, isShared))),
  };
}

function writtenReplica(replica: ExnodeReplica, isShared: boolean): object {
  const { expires, write, manage, unknown, ...place } = replica;
  return {
    ...unknown,
    ...place,
    ...(expires === undefined ? {} : { expires: new Date(expires).toISOString() }),
    ...(isShared ? {} : { write, manage }),
  };
}

function readBlocks(size: number, blockBytes: number, digests: string): PieceDigests {
  if (!Number.isInteger(Math.log2(blockBytes))) throw bad('blockBytes is not a power of two');
  const count = Math.ceil(size / blockBytes);
  if (count > MAX_EXNODE_BLOCKS) throw bad(`it has more than ${MAX_EXNODE_BLOCKS} blocks`);
  const bytes = decoded(digests);
  if (bytes?.length !== count * DIGEST_BYTES) {
    throw bad(`digests is not the base64 of ${count} SHA-256`);
  }
  return { algorithm: 'sha256', pieceBytes: blockBytes, hexes: hexesOf(bytes) };
}

/** @throws MillraceError `bad-exnode` if an extent is not one of whole blocks of the file */
function rangeOf(read: ReadExtent, size: number, blockBytes: number, where: string): ByteRange {
  const { start, length } = read;
  const end = start + length;
  if (end > size) throw bad(`${where} ends behind the file`);
  if (start % blockBytes !== 0 || (end % blockBytes !== 0 && end !== size)) {
    throw bad(`${where} is not made of whole blocks`);
  }
  return { start, end };
}

function readExtent(read: ReadExtent, range: ByteRange, where: string): Extent {
  const { start: _, length: __, data: ___, parity: ____, shards, ...unknown } = read;
  const [shard = []] = shards;
  if (shards.length !== 1) throw bad(`${where} has not as many shards as it says`);
  if (shard.length === 0) throw bad(`${where} has no replica`);
  const replicas = shard.map((replica, i) => readReplica(replica, `${where}.shards.0.${i}`));
  return { ...range, replicas, unknown: kept(unknown) };
}

function readCoded(
  read: ReadExtent,
  range: ByteRange,
  blockBytes: number,
  where: string,
): CodedExtent {
  const { start: _, length: __, data, parity, unit = 0, shards, ...more } = read;
  const { parityDigests = '', ...unknown } = more;
  if (data < 1 || data > MAX_DATA || parity < 1 || parity > MAX_PARITY) {
    throw bad(`${where} is kept in ${data}+${parity} shards, which are not known here`);
  }
  if (shards.length !== data + parity) throw bad(`${where} has not as many shards as it says`);
  if (unit === 0 || unit % blockBytes !== 0) throw bad(`${where}.unit is not of whole blocks`);
  const layout = { ...range, data, parity, unit };
  const columns = columnsOf(layout, blockBytes);
  const bytes = decoded(parityDigests);
  const count = columns * parity;
  if (bytes?.length !== count * DIGEST_BYTES) {
    throw bad(`${where}.parityDigests is not the base64 of ${count} SHA-256`);
  }
  const hexes = hexesOf(bytes);
  const found = shards.map((shard, i) => {
    if (shard.length > 0 && shardBytes(layout, i) === 0) throw bad(`${where}.shards.${i} is empty`);
    return shard.map((replica, j) => readReplica(replica, `${where}.shards.${i}.${j}`));
  });
  return {
    ...layout,
    parityHexes: found.slice(data).map((_, j) => hexes.slice(j * columns, (j + 1) * columns)),
    shards: found,
    unknown: kept(unknown),
  };
}

function readReplica(read: ReadReplica, where: string): ExnodeReplica {
  const { read: url, at, expires, write, manage, ...unknown } = read;
  return {
    ...{ read: urlAt(url, `${where}.read`), at, write, manage },
    expires: expires === undefined ? undefined : Date.parse(expires),
    unknown: kept(unknown),
  };
}

/** @throws MillraceError `bad-exnode` that names the place of an address */
function urlAt(text: string, where: string): string {
  try {
    return parseOriginUrl(text).href;
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    throw bad(`${where}: ${error.message}`);
  }
}

/** Bounds the values of a JSON text, which take more memory than the text. */
function checkNesting(text: string): void {
  let depth = 0;
  let values = 0;
  for (let i = 0, isQuoted = false; i < text.length; i++) {
    const char = text[i];
    if (isQuoted && char === '\\') i++;
    else if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (char === '[' || char === '{' || char === ',')) {
      if (char !== ',') depth++;
      if (depth > MAX_DEPTH) throw bad(`more than ${MAX_DEPTH} values are inside each other`);
      if (++values > MAX_VALUES) throw bad('it has too many values');
    } else if (!isQuoted && (char === ']' || char === '}')) depth--;
  }
}

function kept(unknown: Readonly<Record<string, unknown>>): Exnode['unknown'] {
  return Object.keys(unknown).length === 0 ? undefined : unknown;
}

function base64(hexes: readonly string[]): string {
  const parts = hexes.map((hex) => String.fromCharCode(...bytesOfHex(hex)));
  return btoa(parts.join(''));
}

/** Reads base64; undefined if it is malformed, or could be written in another way. */
function decoded(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return text.length === Math.ceil(bytes.length / 3) * 4 ? bytes : undefined;
  } catch {
    return undefined;
  }
}

function hexesOf(bytes: Uint8Array): string[] {
  const count = bytes.length / DIGEST_BYTES;
  return Array.from({ length: count }, (_, i) =>
    toHex(bytes.subarray(i * DIGEST_BYTES, (i + 1) * DIGEST_BYTES)),
  );
}

function bad(detail: string): MillraceError {
  return new MillraceError('bad-exnode', detail);
}
