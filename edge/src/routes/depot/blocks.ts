/**
 * Answers a manager's question for the digests of a file's blocks. All of the file is read, so few
 * such answers are made at a time; they are sent as they are made.
 */

import { createHash } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import { SEGMENT_BYTES } from '@millrace/shared/cdn/depot/sums';
import type { Allocation } from '../../depot/allocation.ts';
import { READ_MEMORY_BYTES, readVerified } from '../../depot/verified-read.ts';
import type { DepotRequest } from './depot-request.ts';
import { drained } from './download.ts';

/** Most blocks of one answer. */
const MAX_BLOCKS = 16_384;

/**
 * Reads the size of blocks in a query.
 *
 * @returns undefined if the query does not ask for blocks
 * @throws MillraceError `bad-request`
 */
export function readBlockBytes(query: string, length: number): number | undefined {
  const text = new URLSearchParams(query).get('blocks');
  if (text === null) return undefined;
  const bytes = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (bytes < SEGMENT_BYTES || bytes % SEGMENT_BYTES !== 0) {
    const least = formatBytes(SEGMENT_BYTES);
    throw new MillraceError('bad-request', `blocks: a multiple of ${least} is needed`);
  }
  if (Math.ceil(length / bytes) > MAX_BLOCKS) {
    throw new MillraceError('bad-request', `blocks: the file has more than ${MAX_BLOCKS} of them`);
  }
  return bytes;
}

/**
 * Sends the state of a complete allocation with the SHA-256 of each block.
 *
 * @param state members of the document besides the blocks
 * @throws MillraceError `upload-incomplete`, `too-many-transfers`, `allocation-damaged`
 */
export async function sendBlocks(
  { res, exchange, options, use }: DepotRequest,
  allocation: Allocation,
  blockBytes: number,
  state: object,
): Promise<void> {
  const { final } = allocation.head;
  if (final === undefined) throw new MillraceError('upload-incomplete');
  const { signal } = exchange.controller;
  const ended = [use.beginScan(), allocation.addReader(exchange.controller)];
  exchange.heldBytes = () => READ_MEMORY_BYTES;
  try {
    const document = JSON.stringify({ ...state, blockBytes });
    let text = `${document.slice(0, -1)},"blocks":[`;
    const send = async (more: string) => {
      if (!res.headersSent) {
        res.writeHead(200, { 'cache-control': 'no-store', 'content-type': 'application/json' });
      }
      if (!res.write(more)) await drained(res, signal);
    };
    for (let start = 0; start < final.length; start += blockBytes) {
      const range = { start, end: Math.min(start + blockBytes, final.length) };
      const hash = createHash('sha256');
      for await (const piece of readVerified(allocation.bytesFolder, range)) {
        signal.throwIfAborted();
        hash.update(piece);
      }
      await send(`${text}${start === 0 ? '' : ','}"${hash.digest('hex')}"`);
      text = '';
    }
    await send(`${text}]}\n`);
    res.end();
  } catch (error) {
    await options.depot.onReadError(allocation, error);
    // As for downloads.
    signal.throwIfAborted();
    throw error;
  } finally {
    for (const end of ended) end();
  }
}
