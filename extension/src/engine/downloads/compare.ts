/** Reads and compares small parts of files. */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import type { FetchSource } from '../sources/fetch-source.ts';

/** Reads a small range of a source into memory. @throws MillraceError; the signal's reason */
export async function readRange(
  source: FetchSource,
  range: ByteRange,
  version: PinnedVersion,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const opened = await source.open(range, version, signal);
  const bytes = new Uint8Array(rangeBytes(range));
  await opened.read((position, piece) => {
    bytes.set(piece, position - range.start);
    return undefined;
  });
  return bytes;
}

export const isEqual = (a: Uint8Array, b: Uint8Array) =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);
