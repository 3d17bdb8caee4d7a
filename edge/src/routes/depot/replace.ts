/** Replaces an exNode that its owner has changed: links to it, and to its file, stay as they are. */

import { createHash } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import { depotFileTag } from '@millrace/shared/cdn/depot/depot-file';
import { EXNODE_TYPE, MAX_EXNODE_BYTES } from '@millrace/shared/exnode/exnode';
import { parseExnode } from '@millrace/shared/exnode/exnode-text';
import type { Allocation } from '../../depot/allocation.ts';
import { replaceContent } from '../../depot/replacement.ts';
import { readVerified } from '../../depot/verified-read.ts';
import { type DepotRequest, sendJson } from './depot-request.ts';
import { RequestBody } from './request-body.ts';
import { stateFields } from './uploads.ts';

/**
 * Answers PUT of a complete exNode. The new one must describe the same file, so that a link never gives
 * another one.
 *
 * @throws MillraceError `upload-complete` if it is no exNode; `precondition-failed` without the entity tag
 *   that it has; `bad-exnode`; `content-mismatch` if it describes another file; as `replaceContent`
 */
export async function replace(request: DepotRequest, allocation: Allocation): Promise<void> {
  const { req, res, exchange, options, use } = request;
  const { depot, now } = options;
  // Both editions are in memory for a moment.
  const endScan = use.beginScan();
  try {
    depot.checkReadable(allocation);
    if (allocation.head.type !== EXNODE_TYPE) {
      throw new MillraceError('upload-complete', 'only exNodes can be replaced');
    }
    const body = new RequestBody(req, res, exchange.controller.signal, now);
    const text = await body.text(MAX_EXNODE_BYTES);
    const { root } = parseExnode(text, sha256);
    const turn = await allocation.takeTurn();
    try {
      checkCondition(req.headers['if-match'], allocation);
      if ((await rootOf(allocation)) !== root) {
        throw new MillraceError('content-mismatch', 'the exNode is that of another file');
      }
      await replaceContent(depot, allocation, Buffer.from(text), options);
    } finally {
      turn.end();
    }
    const { final, expiresAt } = allocation.head;
    const expires = new Date(expiresAt).toISOString();
    const document = { bytes: final?.length, sha256: final?.sha256, expires };
    sendJson(res, 200, document, stateFields(request, allocation));
  } finally {
    endScan();
  }
}

/** @throws MillraceError `precondition-failed` */
function checkCondition(field: string | undefined, { head }: Allocation): void {
  const etag = depotFileTag(head.id, head.edition);
  const named = (field ?? '').split(',').map((tag) => tag.trim());
  if (named.includes(etag) || field === '*') return;
  throw new MillraceError('precondition-failed', `If-Match must name ${etag}`);
}

async function rootOf(allocation: Allocation): Promise<string> {
  const range = { start: 0, end: allocation.head.final?.length ?? 0 };
  const pieces: Buffer[] = [];
  for await (const piece of readVerified(allocation.bytesFolder, range)) pieces.push(piece);
  return parseExnode(Buffer.concat(pieces).toString(), sha256).root;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
