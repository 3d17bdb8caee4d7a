/**
 * Reads small files that belong to a download: lists of edges, Metalink documents, lists of
 * digests.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import type { HttpSource } from './http-source.ts';

export interface SmallFile {
  readonly body: Buffer;
  readonly contentType: string | undefined;
}

/**
 * Reads a whole file into memory.
 *
 * @param source makes the request to its URL
 * @param maxBytes a longer file is refused
 * @throws MillraceError; the signal's reason
 */
export async function readSmallFile(
  source: HttpSource,
  maxBytes: number,
  signal: AbortSignal,
): Promise<SmallFile> {
  const opened = await source.openWhole(signal);
  const pieces: Buffer[] = [];
  let bytes = 0;
  await opened.read((_position, piece) => {
    bytes += piece.length;
    if (bytes > maxBytes) throw new MillraceError('wrong-length', `more than ${maxBytes} bytes`);
    pieces.push(Buffer.from(piece));
    return undefined;
  });
  const type = opened.headers['content-type'];
  return { body: Buffer.concat(pieces), contentType: Array.isArray(type) ? type[0] : type };
}
