/**
 * Uploads to the depot: allocations with or without content, and appends to them
 * (draft-ietf-httpbis-resumable-upload-15).
 */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Digest } from '@millrace/shared/base/digest';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { depotFileTag } from '@millrace/shared/cdn/depot/depot-file';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { contentDigests, fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { formatHttpDate } from '@millrace/shared/http/fields/http-date';
import {
  PARTIAL_UPLOAD,
  readUploadFields,
  UPLOAD_RESUMPTION,
  uploadFields,
  uploadLimit,
} from '@millrace/shared/http/fields/upload-fields';
import { formatDepotLink } from '@millrace/shared/http/urls/depot-link';
import { sleep } from '@millrace/shared/node/sleep';
import { streamOf } from '../../clients/connection.ts';
import { sendInterimAnswer } from '../../clients/interim-answer.ts';
import { widenWindow } from '../../clients/upload-window.ts';
import type { Allocation, Turn } from '../../depot/allocation.ts';
import { append } from '../../depot/append.ts';
import type { Allocated } from '../../depot/depot.ts';
import type { Request } from '../../depot/space.ts';
import { suspendRequestTimeout } from '../../listen/uploads.ts';
import { ownBase } from '../own-address.ts';
import { type DepotRequest, sendJson, uploadLimits, usualLease } from './depot-request.ts';
import { reprDigest } from './download.ts';
import { RequestBody } from './request-body.ts';
import { readCreation, readName, readQuery } from './requests.ts';

/** Longest body of a request that only reserves. */
const CREATION_BYTES = 64 * 1024;

/** Answers POST: reserves, and stores the content if the request says that it is a file's. */
export async function create(request: DepotRequest, owner: Owner, query: string): Promise<void> {
  const { req } = request;
  const { complete } = readUploadFields(req.headers);
  if (complete === undefined) return reserve(request, owner);
  const { contentDisposition, contentType } = readName(req.headers);
  const creation = { ...readQuery(query, usualLease(request, owner)), name: contentDisposition };
  return storeContent(request, owner, { ...creation, type: contentType, complete });
}

/** Answers PUT: stores the content, and answers with the link as text. */
export async function put(
  request: DepotRequest,
  owner: Owner,
  name: string,
  query: string,
): Promise<void> {
  const { complete } = readUploadFields(request.req.headers);
  const { contentType: type } = readName(request.req.headers);
  const creation = { ...readQuery(query, usualLease(request, owner)), name, type };
  const isPlain = complete === undefined;
  return storeContent(request, owner, { ...creation, complete: complete ?? true, isPlain });
}

/**
 * Answers HEAD of an upload. A request that appends is terminated: its client has left it. A pull is
 * not, because it has no client, and this is how its progress is read.
 */
export async function showState(request: DepotRequest, allocation: Allocation): Promise<void> {
  if (allocation.isPulling) {
    request.res.writeHead(204, stateFields(request, allocation)).end();
    return;
  }
  const turn = await allocation.takeTurn();
  try {
    request.res.writeHead(204, stateFields(request, allocation)).end();
  } finally {
    turn.end();
  }
}

/** Answers PATCH of an upload. */
export async function patch(request: DepotRequest, allocation: Allocation): Promise<void> {
  const { req, res } = request;
  const stated = readUploadFields(req.headers);
  const [type] = (req.headers['content-type'] ?? '').toLowerCase().split(';');
  if (type?.trim() !== PARTIAL_UPLOAD) {
    throw new MillraceError('bad-request', `the Content-Type must be ${PARTIAL_UPLOAD}`);
  }
  const { offset, complete, length } = stated;
  if (offset === undefined || complete === undefined) {
    throw new MillraceError('bad-request', 'Upload-Offset and Upload-Complete are needed');
  }
  const turn = await allocation.takeTurn();
  try {
    request.about = { allocation, stated: offset };
    if (allocation.isComplete) throw new MillraceError('upload-complete');
    if (offset !== allocation.offset) {
      const { offset: expected } = allocation;
      throw new MillraceError('offset-mismatch', `${expected} bytes are stored`);
    }
    await request.options.depot.contents.notePull(allocation, undefined);
    await appendBody(request, allocation, turn, { complete, length });
    if (!complete) {
      res.writeHead(204, stateFields(request, allocation)).end();
      return;
    }
    const { head } = allocation;
    sendJson(res, 200, finalDocument(allocation), {
      ...stateFields(request, allocation),
      'repr-digest': reprDigest(head.final?.sha256 ?? ''),
    });
  } finally {
    turn.end();
  }
}

/** Reserves space for bytes that further requests bring. */
async function reserve(request: DepotRequest, owner: Owner): Promise<void> {
  const { req, res, exchange, options } = request;
  const body = new RequestBody(req, res, exchange.controller.signal, options.now);
  const { bytes, seconds, ...rest } = readCreation(await body.text(CREATION_BYTES));
  const made = await options.depot.allocate(owner, {
    ...{ bytes, forMs: seconds * 1000, resumable: true },
    ...rest,
  });
  const { document, links } = describe(request, made);
  sendJson(res, 201, document, {
    location: links.write,
    'upload-limit': uploadLimit(uploadLimits(request, made.allocation)),
  });
}

type Creation = Pick<Request, 'forMs' | 'name' | 'type'> & {
  readonly complete: boolean;
  /** True for clients that know nothing of resumable uploads. */
  readonly isPlain?: boolean;
};

async function storeContent(
  request: DepotRequest,
  owner: Owner,
  { complete, isPlain = false, ...creation }: Creation,
): Promise<void> {
  const { req, res, options } = request;
  const length = statedLength(req, 0, complete);
  const digest = statedDigest(req, 'repr-digest');
  const made = await options.depot.allocate(owner, {
    ...creation,
    ...{ bytes: undefined, length, sha256: digest?.hex, resumable: !isPlain },
  });
  const { allocation } = made;
  const { links } = describe(request, made);
  const limit = { 'upload-limit': uploadLimit(uploadLimits(request, allocation)) };
  const turn = await allocation.takeTurn();
  try {
    request.about = { allocation };
    if (!isPlain) tell(request, { location: links.write, ...limit });
    await appendBody(request, allocation, turn, { complete, length, isPlain });
    if (isPlain) {
      const text = `${links.read}\n`;
      const { expiresAt } = allocation.head;
      res.writeHead(201, {
        'content-type': 'text/plain; charset=utf-8',
        'content-length': String(Buffer.byteLength(text)),
        'cache-control': 'no-store',
        location: links.read,
        sunset: formatHttpDate(expiresAt),
      });
      res.end(text);
      return;
    }
    const { document } = describe(request, made);
    sendJson(res, 201, document, {
      ...stateFields(request, allocation),
      location: links.write,
    });
  } catch (error) {
    // Nobody else knows the links.
    if (isPlain) void options.depot.release(allocation).catch(() => {});
    throw error;
  } finally {
    turn.end();
  }
}

/** Tells a client the place of its upload, or how much of it is stored. */
function tell({ req, res }: DepotRequest, fields: Readonly<Record<string, string>>): void {
  sendInterimAnswer(req, res, UPLOAD_RESUMPTION.status, fields);
}

interface Appended {
  readonly complete: boolean;
  readonly length: number | undefined;
  readonly isPlain?: boolean;
}

/** Appends the body of a request, and completes the upload if that is all of it. */
async function appendBody(
  request: DepotRequest,
  allocation: Allocation,
  turn: Turn,
  { complete, length, isPlain = false }: Appended,
): Promise<void> {
  const { req, res, exchange, options, use } = request;
  const { depot, owners, now } = options;
  const start = allocation.offset;
  const content = contentLength(req);
  const whole = statedLength(req, start, complete, length);
  if (whole !== undefined) await depot.contents.setLength(allocation, whole);
  // Refused before the client has sent it in vain.
  if (content !== undefined) depot.space.makeRoom(allocation, start + content);
  const ended = [use.beginAppend(exchange.clientKey), widenWindow(res)];
  if (streamOf(res) === undefined) ended.push(suspendRequestTimeout(req.socket));
  const signal = AbortSignal.any([turn.signal, exchange.controller.signal]);
  const expected = statedDigest(req, 'content-digest');
  const hash = expected === undefined ? undefined : createHash('sha256');
  try {
    const body = new RequestBody(req, res, signal, now);
    await append(allocation, {
      async next() {
        const bytes = await body.next();
        if (bytes === undefined) return undefined;
        hash?.update(bytes);
        options.onBytes(bytes.length);
        const waitMs = owners.pause(allocation.head.owner, bytes.length, now());
        if (waitMs > 0) await sleep(waitMs, signal);
        return bytes;
      },
      makeRoom: (end) => depot.space.makeRoom(allocation, end),
      onAcknowledged(offset) {
        if (!isPlain) tell(request, uploadFields({ offset }));
      },
      check:
        hash === undefined
          ? undefined
          : () => {
              if (hash.digest('hex') === expected?.hex) return;
              throw new MillraceError('content-mismatch', 'nothing of this request is stored');
            },
      now,
    });
    if (complete) await depot.contents.complete(allocation, signal);
  } catch (thrown) {
    // The end of the turn is the reason for whatever else has failed.
    if (turn.signal.aborted && !(thrown instanceof MillraceError)) throw turn.signal.reason;
    throw asMillraceError(depot.diskError(thrown));
  } finally {
    for (const end of ended) end();
  }
}

/**
 * Returns the length of the whole that a request states: by Upload-Length, or because its content
 * is the rest.
 *
 * @throws MillraceError `inconsistent-length` if it states two
 */
function statedLength(
  req: IncomingMessage,
  offset: number,
  complete: boolean,
  length: number | undefined = readUploadFields(req.headers).length,
): number | undefined {
  const content = contentLength(req);
  const rest = complete && content !== undefined ? offset + content : undefined;
  if (rest !== undefined && length !== undefined && rest !== length) {
    throw new MillraceError('inconsistent-length', `${length} and ${rest} bytes were stated`);
  }
  return length ?? rest;
}

/** Returns the length of the content; undefined if it ends when it ends. */
function contentLength({ headers, httpVersionMajor }: IncomingMessage): number | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (length !== undefined) return Number(length);
  return coding === undefined && httpVersionMajor < 2 ? 0 : undefined;
}

/**
 * Reads the SHA-256 of the whole file, or of the content of this request.
 *
 * @throws MillraceError `bad-request` if there are two
 */
function statedDigest(
  { headers }: IncomingMessage,
  name: 'repr-digest' | 'content-digest',
): Digest | undefined {
  // Alone: other fields have digests too.
  const field = { [name]: headers[name] };
  try {
    const digests = name === 'repr-digest' ? fileDigests(field, 200) : contentDigests(field, 206);
    return digests.find(({ algorithm }) => algorithm === 'sha256');
  } catch (cause) {
    throw new MillraceError('bad-request', `${name} has two digests`, { cause });
  }
}

/** Returns the fields that tell the state of an upload. */
export function stateFields(request: DepotRequest, allocation: Allocation): Record<string, string> {
  const { head, offset, isComplete: complete } = allocation;
  const length = head.final?.length ?? head.length;
  return {
    ...uploadFields({ offset, complete, length }),
    'upload-limit': uploadLimit(uploadLimits(request, allocation)),
    'cache-control': 'no-store',
    ...(head.final === undefined
      ? {}
      : {
          etag: depotFileTag(head.id, head.edition),
          'repr-digest': reprDigest(head.final.sha256),
        }),
  };
}

function finalDocument({ head }: Allocation) {
  const { final, expiresAt } = head;
  const expires = new Date(expiresAt).toISOString();
  return { bytes: final?.length, sha256: final?.sha256, expires };
}

/** Describes a new allocation to its owner: the one time that its links are told. */
function describe({ req, options }: DepotRequest, { allocation, secrets }: Allocated) {
  const { id, name, bytes, final, expiresAt } = allocation.head;
  const base = ownBase(req, options.publicUrl);
  const link = (kind: 'read' | 'write' | 'manage') =>
    base + formatDepotLink({ kind, id, secret: secrets[kind] }, name);
  const links = { read: link('read'), write: link('write'), manage: link('manage') };
  const expires = new Date(expiresAt).toISOString();
  const document = { id, ...links, bytes, expires, sha256: final?.sha256 };
  return { document, links };
}
