/**
 * Answers nodes that follow a file while it comes here in one stream: with what has come of a range,
 * and, once the stream has ended, with the file's length.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { MillraceError } from '@millrace/shared/base/errors';
import type { ChunkName } from '@millrace/shared/cdn/chunks/chunk-name';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import type { ChunkStore } from '../agent/chunk-store.ts';
import { isPointer, type PointerCache } from '../cache/pointer-cache.ts';
import { writeLoaned } from '../clients/loaned-write.ts';
import { sha256 } from '../files/chunk.ts';
import type { ClusterAuth } from '../peers/cluster-auth.ts';
import { signedPiece } from '../peers/stream-pieces.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { nextPiece, type Piece, storedPiece } from '../streams/stream-piece.ts';
import type { Streams } from '../streams/streams.ts';

export interface SendPieceOptions {
  readonly auth: ClusterAuth;
  readonly policy: OriginPolicy;
  readonly chunks: ChunkStore;
  readonly streams: Streams;
  readonly pointers: PointerCache;
  readonly chunkBytes: number;
}

/**
 * Sends what has come of a range; waits until something has.
 *
 * @param fields of every answer
 * @throws MillraceError `not-cached` if the stream is unknown here; `bad-chunk-name`;
 *   those of the policy
 */
export async function sendPiece(
  o: SendPieceOptions,
  req: IncomingMessage,
  res: ServerResponse,
  wanted: ChunkName,
  fields: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const { start, end } = wanted.range;
  const until = start - (start % o.chunkBytes) + o.chunkBytes;
  const piece = await pieceOf(o, wanted, Math.min(end, until), signal);
  const { data, length, release } = piece;
  let sent = false;
  try {
    const digest = `sha-256=:${(await sha256(data)).toString('base64')}:`;
    signal.throwIfAborted();
    const told = length === undefined ? '' : String(length);
    res.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': String(data.length),
      ...(told === '' ? {} : { [INSIDE.fileLength]: told }),
      'content-digest': digest,
      ...fields,
      ...o.auth.signAnswer(req, signedPiece(digest, told)),
    });
    sent = true;
    if (data.length === 0) return void res.end();
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      // The exchange may end before the write does: the system may still read the memory.
      writeLoaned(res, data, () => {
        release();
        resolve();
      });
    });
    if (!signal.aborted) res.end();
  } finally {
    if (!sent || data.length === 0) release();
  }
}

function pieceOf(
  { policy, streams, pointers, chunks, chunkBytes }: SendPieceOptions,
  { url, tag, range: { start } }: ChunkName,
  end: number,
  signal: AbortSignal,
): Promise<Piece> {
  if (tag === undefined) throw new MillraceError('bad-chunk-name', 'no version');
  const range = { start, end };
  const stream = streams.passing(tag);
  const isRight = stream?.version.url === url && stream.version.scope === 'public';
  if (stream !== undefined && isRight) {
    return nextPiece(stream, range, chunks, chunkBytes, signal);
  }
  const known = pointers.get(url, 'public');
  if (known === undefined || !isPointer(known) || known.version.tag !== tag) {
    throw new MillraceError('not-cached', 'the stream is not known here');
  }
  policy.checkFile(known);
  return storedPiece(known.version, range, chunks, chunkBytes, signal);
}
