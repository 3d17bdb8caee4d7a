/** Answers requests for a file that an exNode describes: put together from what depots have. */

import type { IncomingMessage } from 'node:http';
import { MillraceError } from '@millrace/shared/base/errors';
import { FRESH_MS } from '@millrace/shared/cdn/depot/depot-file';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import type { Exchange } from '../../clients/exchanges.ts';
import type { StoredDocument, WholeFile, WholeFiles } from '../../compose/whole-files.ts';
import { type SendFileOptions, sendFile } from '../send/send-file.ts';
import { fileFields } from './download.ts';
import { pointerWith } from './network-file.ts';

export interface WholeFileOptions {
  readonly wholes: WholeFiles;
  /** Sends files from proven blocks. */
  readonly sending: SendFileOptions;
}

/**
 * Answers a request for the file that a document describes.
 *
 * @throws MillraceError `file-encrypted` for a browser, which would show or save what nobody can use;
 *   those of `WholeFiles.open` and `sendFile`
 */
export async function sendWhole(
  { wholes, sending }: WholeFileOptions,
  exchange: Exchange,
  document: StoredDocument,
): Promise<void> {
  const file = await wholes.open(document, exchange.controller.signal);
  const { sealed, blocks, size } = file.exnode;
  if (sealed !== undefined && isPageRequest(exchange.req))
    throw new MillraceError('file-encrypted');
  const now = sending.wallClock();
  const lifeMs = Math.min(FRESH_MS, file.expiresAt - now);
  const outcome = { hit: true, ttlSeconds: Math.max(0, Math.floor(lifeMs / 1000)) } as const;
  const ended = wholes.use(file);
  try {
    const pointer = pointerWith(file.url, size, wholeFields(file, now), now);
    // Blocks are chunks, so that each is proven before a byte of it is sent.
    await sendFile({ ...sending, chunkBytes: blocks.pieceBytes }, exchange, pointer, outcome);
  } finally {
    ended();
  }
}

function wholeFields({ id, exnode, expiresAt }: WholeFile, now: number): Record<string, string> {
  const { name, type, sha256, root } = exnode;
  const etag = `"${root}"`;
  return fileFields({ id, name: safeFileName(name), type, expiresAt }, { sha256, etag }, now);
}

/** Returns true for requests that a browser makes for what is to be shown (Fetch Metadata). */
function isPageRequest({ headers }: IncomingMessage): boolean {
  const { 'sec-fetch-mode': mode, accept = '' } = headers;
  return mode === undefined ? accept.startsWith('text/html') : mode === 'navigate';
}
