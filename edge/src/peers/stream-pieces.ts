/**
 * Pieces of a file that comes to another node in one stream. Each is checked against the digest that
 * came with it. Only the signed length of the file, which the other node tells after the stream's
 * clean end, ends it: a stream that breaks off never looks complete.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import { singleField } from '@millrace/shared/http/fields/headers';
import { networkError } from '@millrace/shared/node/network-error';
import type { RangeResponse } from '@millrace/shared/node/range-client';
import { sha256 } from '../files/chunk.ts';
import { allocateFor, type ChunkBuffer, type ChunkMemory } from '../files/chunk-memory.ts';
import type { ClusterAuth } from './cluster-auth.ts';

export interface PieceRequest {
  /** Canonical URL of the file. */
  readonly url: string;
  readonly tag: string;
  /** At most one chunk. */
  readonly range: ByteRange;
}

export interface StreamPiece {
  /** Bytes from the start of the requested range on, in memory that belongs to the caller. */
  readonly buffer: ChunkBuffer;
  /** Length of the file, once the stream has ended. */
  readonly length: number | undefined;
}

/** Parts of the answer that its signature covers. */
export function signedPiece(digest: string, length: string): readonly string[] {
  return ['200', 'stream', digest, length];
}

/**
 * Reads a piece, and checks it.
 *
 * @throws PeerFailure if the answer cannot be used
 */
export async function readPiece(
  from: { readonly auth: ClusterAuth; readonly memory: ChunkMemory; readonly peer: string },
  response: RangeResponse,
  nonce: string,
  { range }: PieceRequest,
  onBytes: (count: number) => void,
): Promise<StreamPiece> {
  const { auth, memory, peer } = from;
  const { headers, plain } = response;
  const digest = singleField(headers, 'content-digest') ?? '';
  const end = singleField(headers, INSIDE.fileLength) ?? '';
  const bytes = Number(singleField(headers, 'content-length') ?? Number.NaN);
  try {
    auth.verifyAnswer(nonce, headers, signedPiece(digest, end));
    const isLegal = plain && bytes <= range.end - range.start && /^\d{0,16}$/.test(end);
    // An empty piece says nothing unless the stream has ended.
    if (!isLegal || (bytes === 0 && end === '')) {
      throw new MillraceError('malformed-response', 'a piece of a stream');
    }
  } catch (error) {
    response.discard();
    throw new PeerFailure(peer, error as MillraceError);
  }
  const buffer = allocateFor(response, memory, bytes);
  try {
    await response.readInto(buffer.data, onBytes);
    const actual = (await sha256(buffer.data)).toString('base64');
    if (digest !== `sha-256=:${actual}:`) throw new MillraceError('wrong-digest', `from ${peer}`);
    return { buffer, length: end === '' ? undefined : Number(end) };
  } catch (error) {
    buffer.release();
    throw new PeerFailure(peer, networkError(error, true));
  }
}
