/**
 * Reads small files that belong to a download: lists of edges, Metalink documents, lists of
 * digests.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadSource } from './download-source.ts';

export interface SmallFile {
  readonly body: Buffer;
  readonly contentType: string | undefined;
}

/**
 * Reads a whole file into memory.
 *
 * @param source makes the request to its URL
 * @param maxBytes a longer file is refused
 * @param longestMs longest time for all of it: a server that drips never ends by itself
 * @throws MillraceError, `origin-timeout` if it takes too long; the signal's reason
 */
export async function readSmallFile(
  source: Pick<DownloadSource, 'openWhole'>,
  maxBytes: number,
  signal: AbortSignal,
  longestMs?: Millis,
): Promise<SmallFile> {
  if (longestMs === undefined) return readWhole(source, maxBytes, signal);
  const late = AbortSignal.timeout(longestMs);
  try {
    return await readWhole(source, maxBytes, AbortSignal.any([signal, late]));
  } catch (error) {
    signal.throwIfAborted();
    if (!late.aborted) throw error;
    throw new MillraceError('origin-timeout', `a small file took more than ${longestMs} ms`);
  }
}

async function readWhole(
  source: Pick<DownloadSource, 'openWhole'>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<SmallFile> {
  const opened = await source.openWhole(signal);
  const pieces: Buffer[] = [];
  let bytes = 0;
  await opened.read((_position, piece) => {
    bytes += piece.length;
    if (bytes > maxBytes)
      throw new MillraceError('wrong-length', {
        code: 'too-many-bytes',
        values: { mostBytes: maxBytes },
      });
    pieces.push(Buffer.from(piece));
    return undefined;
  });
  const type = opened.headers['content-type'];
  return { body: Buffer.concat(pieces), contentType: Array.isArray(type) ? type[0] : type };
}
