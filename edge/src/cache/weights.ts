/**
 * Weights of cache entries in memory, bytes: keys, URLs, fields and bookkeeping besides the data.
 */

import {
  ENTRY_BYTES,
  fieldsBytes,
  OBJECT_BYTES,
  textBytes,
} from '@millrace/shared/cdn/admission/memory-weight';
import type { FileVersion, PointerEntry } from '../files/file-version.ts';
import { isWhole, type KeptAnswer } from '../files/origin-answer.ts';

/**
 * A chunk's own objects: the chunk, its loan of memory, the Buffer and its ArrayBuffer, and the
 * digest with its promise.
 */
const CHUNK_BYTES = 1024;
/** A record's place in the index of the disk tier: its name of 64 digits, and its size. */
export const INDEX_ENTRY_BYTES = 240;
/** A write that waits for the disk, besides its data and description. */
const WRITE_BYTES = 1024;

/** Weighs a version of a file. Several entries may share one; each is charged for it. */
function versionBytes({ url, tag, validators, digest, fields }: FileVersion): number {
  const texts = textBytes(url) + textBytes(tag) + textBytes(digest);
  const tags = textBytes(validators.etag) + textBytes(validators.weakEtag);
  return 2 * OBJECT_BYTES + texts + tags + fieldsBytes(fields);
}

/** Weighs a chunk in the memory tier, without its data. */
export function chunkBytes(key: string, version: FileVersion): number {
  return ENTRY_BYTES + CHUNK_BYTES + textBytes(key) + versionBytes(version);
}

/** Weighs a pointer in memory, or the verdict that a file can only be tunnelled. */
export function pointerBytes(key: string, entry: PointerEntry): number {
  const own = ENTRY_BYTES + OBJECT_BYTES + textBytes(key);
  if (!('version' in entry)) return own + OBJECT_BYTES + textBytes(entry.reason);
  const { version, finalUrl } = entry;
  const texts = textBytes(finalUrl) + textBytes(entry.chunks);
  return own + 2 * OBJECT_BYTES + versionBytes(version) + texts;
}

/**
 * A place among the answers of an origin: an entry of a set, and for the first one the set, its key,
 * and its entry among those of all origins.
 */
const PLACE_BYTES = 512;

/** Weighs an answer without a file in memory, with its body if that is kept. */
export function answerBytes(key: string, answer: KeptAnswer): number {
  const { fields, detail } = answer;
  const texts = textBytes(key) + textBytes(detail) + fieldsBytes(fields);
  const page = isWhole(answer) ? answer.body.length + textBytes(answer.finalUrl) : 0;
  return ENTRY_BYTES + PLACE_BYTES + 4 * OBJECT_BYTES + texts + page;
}

/**
 * Weighs a record that waits to be written to the disk, without its data.
 *
 * @param metaBytes weight of its description
 */
export function writeBytes(key: string, metaBytes: number): number {
  return WRITE_BYTES + textBytes(key) + metaBytes;
}
