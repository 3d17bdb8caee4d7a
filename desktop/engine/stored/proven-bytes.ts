/** Reads bytes of a file from its replicas, and gives them on once the digest of their block is right. */

import { createHash } from 'node:crypto';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { rangeBytes, shownRanges } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isPassing, MillraceError } from '@millrace/shared/base/errors';
import { blockRange, type Exnode, type ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { sleep } from '@millrace/shared/node/sleep';
import type { DownloadSource } from '../sources/download-source.ts';
import { lengthOf } from './check-replicas.ts';

/** Largest block that is held in memory: that of files of 4 TiB. */
export const MAX_PROVEN_BYTES = 256 * 1024 * 1024;
/** Times that all replicas are asked for a block, and the pause after the first, which grows. */
const ROUNDS = 3;
const PAUSE_MS: Millis = 1000;

export interface ProvenOptions {
  readonly exnode: Exnode;
  /** Bytes of the file, within one extent. */
  readonly range: ByteRange;
  /** First byte of that extent. */
  readonly extentStart: number;
  /** Lists the replicas of the extent that may be asked now. */
  readonly replicas: () => readonly ExnodeReplica[];
  readonly source: (replica: ExnodeReplica) => Pick<DownloadSource, 'openRange'>;
  /** Called when a replica has a wrong block: it is not to be listed any more. */
  readonly onWrong: (replica: ExnodeReplica, error: MillraceError) => void;
  readonly signal: AbortSignal;
}

/**
 * Reads a range block by block, each from the first replica that has it right.
 *
 * @throws MillraceError `rest-missing` if no replica gives a block; the signal's reason
 */
export async function* provenBytes(options: ProvenOptions): AsyncGenerator<Buffer> {
  const { exnode, range } = options;
  for (let at = range.start; at < range.end; ) {
    const block = blockRange(exnode, Math.floor(at / exnode.blocks.pieceBytes));
    const bytes = await provenBlock(options, block);
    yield bytes.subarray(at - block.start, range.end - block.start);
    at = block.end;
  }
}

async function provenBlock(options: ProvenOptions, block: ByteRange): Promise<Buffer> {
  const { exnode, extentStart, replicas, source, onWrong, signal } = options;
  const digest = exnode.blocks.hexes[block.start / exnode.blocks.pieceBytes];
  let failure: MillraceError | undefined;
  const out = new Set<ExnodeReplica>();
  for (let round = 1; round <= ROUNDS; round++) {
    for (const replica of replicas()) {
      if (out.has(replica)) continue;
      try {
        const bytes = await readBlock(source(replica), block, replica.at - extentStart, signal);
        if (createHash('sha256').update(bytes).digest('hex') === digest) return bytes;
        failure = new MillraceError('wrong-digest', shownRanges([block]));
        onWrong(replica, failure);
      } catch (thrown) {
        signal.throwIfAborted();
        failure = asMillraceError(thrown);
        if (!isPassing(failure.row)) out.add(replica);
      }
    }
    if (replicas().every((replica) => out.has(replica))) break;
    if (round < ROUNDS) await sleep(PAUSE_MS * round, signal);
  }
  const why = failure === undefined ? '' : `: ${failure.message}`;
  throw new MillraceError('rest-missing', `${shownRanges([block])}${why}`);
}

/**
 * Reads a block, by as many answers as it takes.
 *
 * @param ahead position in what the URL serves, less that in the file
 * @throws MillraceError
 */
export async function readBlock(
  source: Pick<DownloadSource, 'openRange'>,
  block: ByteRange,
  ahead: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(rangeBytes(block));
  let at = block.start;
  while (at < block.end) {
    const before = at;
    const asked = { start: at + ahead, end: block.end + ahead };
    const opened = await source.openRange(asked, undefined, signal);
    try {
      lengthOf(opened);
      await opened.read((position, piece) => {
        if (position - ahead !== at || at + piece.length > block.end) {
          throw new MillraceError('wrong-range', 'bytes come out of order');
        }
        bytes.set(piece, at - block.start);
        at += piece.length;
        return undefined;
      });
    } catch (error) {
      opened.discard();
      signal.throwIfAborted();
      // A connection that has brought bytes has been worth its while.
      if (at === before) throw error;
    }
    if (at === before) throw new MillraceError('wrong-range', 'it sends nothing');
  }
  return bytes;
}
