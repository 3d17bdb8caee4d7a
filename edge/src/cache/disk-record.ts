/**
 * The form of a record on disk: a fixed header, a description as JSON, the data. A record that a
 * crash, a full disk or an edit has damaged is recognised, and never taken for data.
 *
 *     0  magic "MILLRACE"     8  format        12  meta length   16  data length
 *     20 CRC-32 of the meta   24 SHA-256 of the data (32 bytes)   56  meta   ...  data
 */

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { isObject } from '@millrace/shared/bridge/rpc/json-rpc';

const MAGIC = Buffer.from('MILLRACE');
const FORMAT = 1;
const HEADER_BYTES = 56;
/** Longest header with its description; records with longer ones are not written. */
export const MAX_HEAD_BYTES = 64 * 1024;

/** Contents of the fixed header and the description. */
export interface RecordHead {
  readonly meta: Readonly<Record<string, unknown>>;
  /** Where the data begin in the file. */
  readonly dataStart: number;
  readonly dataBytes: number;
  /** SHA-256 that the data must have. */
  readonly digest: Buffer;
}

/** Makes a record's name: 64 hexadecimal digits. */
export function recordName(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Returns the file of a record: two digits, a slash, the rest. */
export function pathOfRecord(name: string): string {
  return `${name.slice(0, 2)}/${name.slice(2)}`;
}

/**
 * Names the record in a file of the cache's folder.
 *
 * @param folder name of the file's own folder, directly in the cache's
 * @param file name of the file
 * @returns undefined for a file that this cache has not written: it is neither counted nor deleted
 */
export function recordOfFile(folder: string, file: string): string | undefined {
  const isRecord = isRecordFolder(folder) && /^[0-9a-f]{62}$/.test(file);
  return isRecord ? folder + file : undefined;
}

/** Returns true for the name of a folder of records. */
export function isRecordFolder(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

/** Returns the file of the record for a key. */
export function recordPath(key: string): string {
  return pathOfRecord(recordName(key));
}

/** Writes the bytes before the data in the file. */
export function encodeHead(meta: unknown, dataBytes: number, digest: Buffer): Buffer {
  const json = Buffer.from(JSON.stringify(meta));
  const head = Buffer.alloc(HEADER_BYTES + json.length);
  MAGIC.copy(head, 0);
  head.writeUInt32BE(FORMAT, 8);
  head.writeUInt32BE(json.length, 12);
  head.writeUInt32BE(dataBytes, 16);
  head.writeUInt32BE(crc32(json), 20);
  digest.copy(head, 24);
  json.copy(head, HEADER_BYTES);
  return head;
}

/**
 * Reads the header and the description.
 *
 * @param start the file's first bytes, at least up to the beginning of the data
 * @param fileBytes the file's length
 * @returns undefined if it is not exactly as it was written
 */
export function decodeHead(start: Buffer, fileBytes: number): RecordHead | undefined {
  if (start.length < HEADER_BYTES || !start.subarray(0, 8).equals(MAGIC)) return undefined;
  if (start.readUInt32BE(8) !== FORMAT) return undefined;
  const dataStart = HEADER_BYTES + start.readUInt32BE(12);
  const dataBytes = start.readUInt32BE(16);
  if (fileBytes !== dataStart + dataBytes || start.length < dataStart) return undefined;
  const json = start.subarray(HEADER_BYTES, dataStart);
  if (crc32(json) !== start.readUInt32BE(20)) return undefined;
  const meta = parseDescription(json);
  if (meta === undefined) return undefined;
  const digest = Buffer.from(start.subarray(24, HEADER_BYTES));
  return { meta, dataStart, dataBytes, digest };
}

/** Parses a description: a right checksum does not prove that the bytes are a description. */
function parseDescription(json: Buffer): RecordHead['meta'] | undefined {
  try {
    const meta: unknown = JSON.parse(json.toString());
    return isObject(meta) ? meta : undefined;
  } catch {
    return undefined;
  }
}
