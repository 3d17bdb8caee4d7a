/**
 * Reads the description of a stored file (an exNode) as strictly as shared/src/exnode/exnode-text.ts
 * does, which browsers cannot import: a test holds both together. A stranger may have written it, so
 * all of it is bounded.
 */

import { Failure } from './failure.js';

/** Longest document, in characters, and the other bounds of exNodes. */
export const MAX_DOCUMENT = 16 * 1024 * 1024;
const MAX_BLOCKS = 16_384;
const MAX_LISTED = 16_384;
const MAX_REPLICAS = 64;
const MAX_ALL_REPLICAS = 65_536;
const MAX_SIZE = 2 ** 48;
const MIN_BLOCK = 1024 * 1024;
const MAX_UNIT = 16 * 1024 * 1024;
const MAX_UNITS = 65_536;
/** Most ranges at places, each of which takes memory: more than any upload makes. */
const MAX_PARTS = 262_144;
const MAX_DATA = 32;
const MAX_PARITY = 16;
const MAX_SEALED = 8192;
const DIGEST = 32;
const KNOWN = ['sealed', 'codes'];

/**
 * Bytes of the file that a URL serves. `at` is the position of the first one there; `expires` is the
 * end of the lease, Unix milliseconds.
 *
 * @typedef {{ start: number, end: number, url: string, at: number, expires: number | undefined }} Part
 *
 * @typedef {object} Description
 * @property {number} size
 * @property {number} blockBytes
 * @property {Uint8Array<ArrayBuffer>} digests SHA-256 of each block, one after the other
 * @property {string} root as the document states it
 * @property {Uint8Array<ArrayBuffer> | undefined} sealed head of an encrypted file
 * @property {boolean} isCoded true if lost parts can be solved from others, which the page leaves to its edge
 * @property {Part[]} parts in the order of the document
 */

/**
 * Reads a description. Its root is not computed here, see `rootBytes`.
 *
 * @param {string} text
 * @returns {Description}
 * @throws {Failure} `bad-exnode`
 */
export function readDescription(text) {
  if (text.length > MAX_DOCUMENT) throw bad('it is longer than 16 MiB');
  const document = object(parsed(text), 'it');
  if (document.exnode !== 1) throw bad('its version is not known here');
  string(document.name, 'name', 1, 1024);
  if (document.type !== undefined) string(document.type, 'type', 0, 255);
  const size = integer(document.size, 'size', 0, MAX_SIZE);
  const blockBytes = integer(document.blockBytes, 'blockBytes', MIN_BLOCK, MAX_SIZE);
  if (!Number.isInteger(Math.log2(blockBytes))) throw bad('blockBytes is not a power of two');
  const count = Math.ceil(size / blockBytes);
  if (count > MAX_BLOCKS) throw bad('it has too many blocks');
  const digests = base64(document.digests, 'digests', MAX_BLOCKS * DIGEST);
  if (digests.length !== count * DIGEST) throw bad('digests are not those of its blocks');
  const root = string(document.root, 'root', 64, 64);
  if (!/^[0-9a-f]{64}$/.test(root)) throw bad('root is no SHA-256');
  const required = list(orElse(document.requires, []), 'requires', 64);
  if (!required.every((one) => KNOWN.includes(string(one, 'requires', 0, 64)))) {
    throw bad('it requires what is not known here');
  }
  const sealed =
    document.sealed === undefined ? undefined : base64(document.sealed, 'sealed', MAX_SEALED);
  if (sealed === undefined && required.includes('sealed')) throw bad('its sealed part is missing');
  const shape = { size, blockBytes };
  /** @type {Part[]} */
  const parts = [];
  const total = { replicas: 0, units: 0 };
  for (const extent of list(document.extents, 'extents', MAX_LISTED)) {
    for (const part of partsOf(object(extent, 'an extent'), shape, total)) parts.push(part);
    if (parts.length > MAX_PARTS) throw bad('it has too many parts');
  }
  const isCoded = total.units > 0;
  return { size, blockBytes, digests, root, sealed, isCoded, parts };
}

/**
 * Returns the bytes that the root is the SHA-256 of: the sizes of file and blocks, and all digests.
 *
 * @param {Pick<Description, 'size' | 'blockBytes' | 'digests'>} description
 */
export function rootBytes({ size, blockBytes, digests }) {
  const bytes = new Uint8Array(16 + digests.length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(size));
  view.setBigUint64(8, BigInt(blockBytes));
  bytes.set(digests, 16);
  return bytes;
}

/** @param {string} text */
function parsed(text) {
  try {
    return /** @type {unknown} */ (JSON.parse(text));
  } catch {
    throw bad('it is not a complete JSON document');
  }
}

/**
 * Lists what one extent's replicas have: of coded extents, the shards with the bytes themselves.
 *
 * @param {Record<string, unknown>} extent
 * @param {{ size: number, blockBytes: number }} shape
 * @param {{ replicas: number, units: number }} total of all extents so far
 * @returns {Part[]}
 */
function partsOf(extent, { size, blockBytes }, total) {
  const start = integer(extent.start, 'start', 0, MAX_SIZE);
  const end = start + integer(extent.length, 'length', 1, MAX_SIZE);
  if (end > size) throw bad('an extent ends behind the file');
  if (start % blockBytes !== 0 || (end % blockBytes !== 0 && end !== size)) {
    throw bad('an extent is not made of whole blocks');
  }
  const data = integer(orElse(extent.data, 1), 'data', 1, MAX_DATA);
  const parity = integer(orElse(extent.parity, 0), 'parity', 0, MAX_PARITY);
  const shards = list(extent.shards, 'shards', MAX_DATA + MAX_PARITY).map((shard) =>
    list(shard, 'shards', MAX_REPLICAS).map(replica),
  );
  if (shards.length !== data + parity) throw bad('an extent has not the shards that it says');
  for (const { length } of shards) total.replicas += length;
  if (total.replicas > MAX_ALL_REPLICAS) throw bad('it has too many replicas');
  if (data === 1 && parity === 0) {
    const [only = []] = shards;
    if (only.length === 0) throw bad('an extent has no replica');
    return only.map((one) => ({ start, end, ...one }));
  }
  if (parity === 0) throw bad('an extent has no parity');
  const unit = integer(extent.unit, 'unit', MIN_BLOCK, MAX_UNIT);
  if (unit % blockBytes !== 0) throw bad('a unit is not of whole blocks');
  total.units += (end - start) / unit;
  if (total.units > MAX_UNITS) throw bad('it has too many units');
  const most = Math.max(...shards.map(({ length }) => length));
  if (most * Math.ceil((end - start) / unit) > MAX_PARTS) throw bad('it has too many parts');
  return shards.slice(0, data).flatMap((replicas, index) =>
    unitsOf({ start, end, data, unit }, index).flatMap((own) =>
      replicas.map(({ url, at, expires }) => ({
        ...{ start: own.start, end: own.end, url, expires },
        at: at + own.at,
      })),
    ),
  );
}

/**
 * Lists the units of a data shard.
 *
 * @param {{ start: number, end: number, data: number, unit: number }} layout
 * @param {number} index
 */
function unitsOf({ start, end, data, unit }, index) {
  const units = [];
  for (let at = 0, from = start + index * unit; from < end; at += unit, from += data * unit) {
    units.push({ start: from, end: Math.min(end, from + unit), at });
  }
  return units;
}

/** @param {unknown} value */
function replica(value) {
  const { read, at = 0, expires } = object(value, 'replica');
  const text = string(read, 'read', 1, 8192);
  if (!URL.canParse(text)) throw bad('a replica has no address');
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw bad('a replica has an address that is not for the web');
  }
  url.hash = '';
  return { url: url.href, at: integer(at, 'at', 0, MAX_SIZE), expires: time(expires) };
}

/**
 * Returns a value, or what counts if the member is left out: `null` is a value.
 *
 * @param {unknown} value
 * @param {unknown} usual
 */
function orElse(value, usual) {
  return value === undefined ? usual : value;
}

/** @param {unknown} value */
function time(value) {
  if (value === undefined) return undefined;
  const at = Date.parse(string(value, 'expires', 1, 64));
  if (Number.isNaN(at)) throw bad('expires is no time');
  return at;
}

/**
 * @param {unknown} value
 * @param {string} where
 * @returns {Record<string, unknown>}
 */
function object(value, where) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw bad(`${where} must be an object`);
  }
  return /** @type {Record<string, unknown>} */ (value);
}

/**
 * @param {unknown} value
 * @param {string} where
 * @param {number} most
 * @returns {unknown[]}
 */
function list(value, where, most) {
  if (!Array.isArray(value) || value.length > most)
    throw bad(`${where} must be a list of bounded length`);
  return value;
}

/**
 * @param {unknown} value
 * @param {string} where
 * @param {number} least
 * @param {number} most
 */
function integer(value, where, least, most) {
  if (!Number.isSafeInteger(value) || Number(value) < least || Number(value) > most) {
    throw bad(`${where} is out of its range`);
  }
  return Number(value);
}

/**
 * @param {unknown} value
 * @param {string} where
 * @param {number} least
 * @param {number} most
 */
function string(value, where, least, most) {
  if (typeof value !== 'string' || value.length < least || value.length > most) {
    throw bad(`${where} must be a text of bounded length`);
  }
  return value;
}

/**
 * @param {unknown} value
 * @param {string} where
 * @param {number} most bytes
 */
function base64(value, where, most) {
  const text = string(value, where, 0, Math.ceil(most / 3) * 4);
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw bad(`${where}: base64`);
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let i = 0; i < decoded.length; i++) bytes[i] = decoded.charCodeAt(i);
  return bytes;
}

/** @param {string} detail */
function bad(detail) {
  return new Failure('bad-exnode', detail);
}
