/** Answers requests for a file that an exNode describes: put together from what depots have. */

import { FRESH_MS } from '@millrace/shared/cdn/depot/depot-file';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import type { Exchange } from '../../clients/exchanges.ts';
import type { StoredDocument, WholeFile, WholeFiles } from '../../compose/whole-files.ts';
import { receivePage } from '../../pages/receive-page.ts';
import { type SendFileOptions, sendFile } from '../send/send-file.ts';
import { fileFields } from './download.ts';
import { pointerWith } from './network-file.ts';
import { isOpened, PAGE_VARY, sendPage } from './opened.ts';

export interface WholeFileOptions {
  readonly wholes: WholeFiles;
  /** Sends files from proven blocks. */
  readonly sending: SendFileOptions;
}

/**
 * Answers a request for the file that a document describes. A browser that opens the link of an
 * encrypted file gets the page that decrypts it; programs get the ciphertext.
 *
 * @throws MillraceError those of `WholeFiles.open` and `sendFile`
 */
export async function sendWhole(
  { wholes, sending }: WholeFileOptions,
  exchange: Exchange,
  document: StoredDocument,
): Promise<void> {
  const file = await wholes.open(document, exchange.controller.signal);
  const { sealed, blocks, size } = file.exnode;
  if (sealed !== undefined && isOpened(exchange.req)) {
    return sendPage(exchange, 200, await receivePage());
  }
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
  const { name, type, sha256, root, sealed } = exnode;
  const etag = `"${root}"`;
  const about = { id, name: safeFileName(name), type, expiresAt };
  const fields = fileFields(about, { sha256, etag }, now);
  return sealed === undefined ? fields : { ...fields, vary: PAGE_VARY };
}
