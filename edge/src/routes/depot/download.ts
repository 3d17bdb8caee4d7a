/** Answers GET and HEAD of a file in the depot. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { depotFileTag, FRESH_MS } from '@millrace/shared/cdn/depot/depot-file';
import { decideAnswer } from '@millrace/shared/http/answers/answer';
import { formatContentRange } from '@millrace/shared/http/fields/content-range';
import { formatHttpDate } from '@millrace/shared/http/fields/http-date';
import { type Multipart, multipart } from '@millrace/shared/http/messages/multipart';
import { freeBytes } from '@millrace/shared/node/memory/free-bytes';
import { sleep } from '@millrace/shared/node/sleep';
import { create as createDisposition } from 'content-disposition';
import { endResponse } from '../../clients/connection.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import type { Allocation } from '../../depot/allocation.ts';
import type { ClientUse } from '../../depot/client-use.ts';
import type { Depot } from '../../depot/depot.ts';
import type { Head } from '../../depot/heads/head.ts';
import { READ_MEMORY_BYTES, readVerified } from '../../depot/verified-read.ts';
import type { Metrics } from '../../figures/metrics.ts';
import { receivePage } from '../../pages/receive-page.ts';
import { isEncryptedDocument, isOpened, PAGE_VARY, sendPage } from './opened.ts';

export interface DownloadOptions {
  readonly depot: Depot;
  readonly use: ClientUse;
  readonly metrics: Metrics;
  /** Monotonic and Unix milliseconds. */
  readonly now: () => Millis;
  readonly wallClock: () => Millis;
}

/**
 * Types that a file may be sent as, besides those of pictures, sounds and films: browsers run none
 * of them, and save them anyway.
 */
const TYPES: ReadonlySet<string> = new Set([
  ...['text/plain', 'text/csv', 'application/json', 'application/pdf', 'application/zip'],
  ...['application/gzip', 'application/x-tar', 'application/x-7z-compressed', 'application/zstd'],
  ...['application/x-xz', 'application/x-bzip2', 'application/x-iso9660-image'],
]);
const MEDIA = /^(?:image|audio|video)\/[a-z0-9.+-]{1,60}$/;
const DEFAULT_TYPE = 'application/octet-stream';

/**
 * Answers a request for a file.
 *
 * @returns resolves when the client's socket has taken every byte
 * @throws MillraceError `upload-incomplete`, `content-blocked`, `allocation-damaged`, those of `decideAnswer`, and
 *   whatever has ended the exchange
 */
export async function sendStored(
  o: DownloadOptions,
  exchange: Exchange,
  allocation: Allocation,
): Promise<void> {
  const { req, res } = exchange;
  const { head } = allocation;
  const final = o.depot.checkReadable(allocation);
  if (isEncryptedDocument(head.name) && isOpened(req)) {
    return sendPage(exchange, 200, await receivePage());
  }
  const fields = fileFields(head, final, o.wallClock());
  const validators = { etag: fields.etag as string };
  const answer = decideAnswer(req.method ?? 'GET', req.headers, {
    length: final.length,
    validators,
  });
  if (answer.kind === 'precondition-failed') throw new MillraceError('precondition-failed');
  if (answer.kind === 'not-modified') {
    const { 'cache-control': cacheControl, etag, sunset } = fields;
    res.writeHead(304, { 'cache-control': cacheControl, etag, sunset }).end();
    return;
  }
  if (answer.kind === 'unsatisfiable') {
    res.setHeader('content-range', `bytes */${final.length}`);
    throw new MillraceError('range-not-satisfiable', `the file has ${final.length} bytes`);
  }
  let parts: Multipart | undefined;
  let ranges: readonly ByteRange[] = [{ start: 0, end: final.length }];
  if (answer.kind === 'ranges') {
    ({ ranges } = answer);
    const [first] = ranges;
    if (ranges.length === 1 && first !== undefined) {
      fields['content-range'] = formatContentRange(first, final.length);
    } else {
      const type = fields['content-type'] as string;
      parts = multipart(randomBytes(16).toString('hex'), type, final.length);
      fields['content-type'] = parts.contentType;
    }
  }
  const bytes = ranges.reduce((sum, range) => sum + rangeBytes(range), 0);
  fields['content-length'] = String(parts?.bodyBytes(ranges) ?? bytes);
  const status = answer.kind === 'ranges' ? 206 : 200;
  if (req.method === 'HEAD') {
    res.writeHead(status, fields).end();
    return;
  }
  exchange.bodyBytes = bytes;
  const ended = [allocation.addReader(exchange.controller), o.use.beginRead()];
  exchange.heldBytes = () => READ_MEMORY_BYTES;
  try {
    await sendRanges(o, exchange, allocation, {
      ranges,
      parts,
      begin: () => res.writeHead(status, fields),
    });
    await endResponse(res);
  } catch (error) {
    await o.depot.onReadError(allocation, error);
    // The files of an allocation that has ended are gone: that they are missing is no fault.
    exchange.controller.signal.throwIfAborted();
    throw error;
  } finally {
    for (const end of ended) end();
  }
}

interface Body {
  readonly ranges: readonly ByteRange[];
  readonly parts: Multipart | undefined;
  /** Sends the head: only when the first bytes have been read and are right. */
  readonly begin: () => void;
}

async function sendRanges(
  o: DownloadOptions,
  exchange: Exchange,
  { bytesFolder }: Allocation,
  { ranges, parts, begin }: Body,
): Promise<void> {
  const { res, admission, controller } = exchange;
  for (const range of ranges) {
    let text = parts?.partHeader(range);
    for await (const piece of readVerified(bytesFolder, range)) {
      controller.signal.throwIfAborted();
      const waitMs = admission.waitMs(o.now());
      if (waitMs > 0) await sleep(waitMs, controller.signal);
      if (!res.headersSent) begin();
      if (text !== undefined) res.write(text, 'latin1');
      text = undefined;
      const { length } = piece;
      const full = !res.write(piece, () => freeBytes(piece));
      exchange.sentBytes += length;
      admission.sent(length, o.now());
      o.metrics.sentToClient(length);
      if (full) await drained(res, controller.signal);
    }
  }
  if (!res.headersSent) begin();
  if (parts !== undefined) res.write(parts.end, 'latin1');
}

/** Resolves when a response takes more bytes. @throws the reason of the signal */
export async function drained(res: ServerResponse, signal: AbortSignal): Promise<void> {
  try {
    await once(res, 'drain', { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

type FileHead = Pick<Head, 'id' | 'name' | 'type' | 'expiresAt' | 'edition'>;

/** Facts about the bytes of a file. */
interface Described {
  /** Hexadecimal. */
  readonly sha256?: string | undefined;
  /** Entity tag; default: that of an allocation. */
  readonly etag?: string | undefined;
}

/**
 * Returns the header fields of a file.
 *
 * @param now Unix milliseconds
 */
export function fileFields(
  { id, name, type, expiresAt, edition }: FileHead,
  { sha256, etag = depotFileTag(id, edition) }: Described,
  now: Millis,
): Record<string, string> {
  const left = Math.max(0, Math.floor((expiresAt - now) / 1000));
  const maxAge = Math.min(FRESH_MS / 1000, left);
  return {
    'content-type': allowedType(type),
    'content-disposition': createDisposition(name ?? 'file', { type: 'attachment' }),
    'accept-ranges': 'bytes',
    etag,
    ...(sha256 === undefined ? {} : { 'repr-digest': reprDigest(sha256) }),
    sunset: formatHttpDate(expiresAt),
    'cache-control': `max-age=${maxAge}, stale-if-error=${left - maxAge}`,
    // Caches must not give these bytes to a browser that is to have the page, nor the reverse.
    ...(isEncryptedDocument(name) ? { vary: PAGE_VARY } : {}),
  };
}

/** Writes a digest as Repr-Digest (RFC 9530). */
export function reprDigest(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
}

function allowedType(type: string | undefined): string {
  const [plain = ''] = (type ?? '').toLowerCase().split(';');
  const allowed = TYPES.has(plain) || (MEDIA.test(plain) && plain !== 'image/svg+xml');
  return allowed ? plain : DEFAULT_TYPE;
}
