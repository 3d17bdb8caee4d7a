/** Reads requests of other nodes: their path, for whom they ask, and which chunk of which file. */

import type { IncomingMessage } from 'node:http';
import { MillraceError } from '@millrace/shared/base/errors';
import type { ChunkName } from '@millrace/shared/cdn/chunks/chunk-name';
import { isLegalChunk } from '@millrace/shared/cdn/chunks/chunk-plan';
import { digestOfTag, isStreamTag, versionOfTag } from '@millrace/shared/cdn/chunks/version-tag';
import { INSIDE, parseClientTag } from '@millrace/shared/cdn/routing/inside-message';
import { type Headers, singleField } from '@millrace/shared/http/fields/headers';
import { parseOriginUrl } from '@millrace/shared/http/urls/prefixed-url';
import type { ChunkRequest } from '../files/chunk-request.ts';
import type { Pointer } from '../files/file-version.ts';
import { MAX_HOPS_READ, MAX_NAMES, nodeClient, type Path } from '../files/path.ts';

const NODE_NAMES = /^[A-Za-z0-9._:-]{1,100}(?: [A-Za-z0-9._:-]{1,100})*$/;

/** Reads for whom the asking node asks. */
export function readClient(headers: Headers, { via }: Path): string | undefined {
  const asker = via.at(-1);
  const tag = parseClientTag(singleField(headers, INSIDE.client));
  return asker === undefined ? undefined : nodeClient(asker, tag);
}

/** Reads only the canonical form of a URL: one file must not have two names. */
export function readUrl(text: string): URL {
  const url = parseOriginUrl(text);
  if (url.href !== text) throw new MillraceError('bad-chunk-name', 'the URL is not canonical');
  return url;
}

/** Reads how the request has come. @throws MillraceError `bad-chunk-name` */
export function readPath(headers: Headers): Path {
  const hops = Number(/^\d{1,2}$/.exec(singleField(headers, INSIDE.hops) ?? '')?.[0] ?? Number.NaN);
  const via = readNames(headers, INSIDE.via);
  if (!(hops >= 1 && hops <= MAX_HOPS_READ) || via.length === 0) {
    throw new MillraceError('bad-chunk-name', 'no hop count, or too high a one');
  }
  return { hops, salt: '', via, avoid: readNames(headers, INSIDE.avoid) };
}

function readNames(headers: Headers, field: string): string[] {
  const value = singleField(headers, field) ?? '';
  const names = NODE_NAMES.test(value) ? value.split(' ') : [];
  return names.length <= MAX_NAMES ? names : [];
}

/** Reads the chunk. @throws MillraceError `bad-chunk-name` for requests that no node sends */
export function readRequest({ url, range, tag }: ChunkName, headers: Headers): ChunkRequest {
  const text = /^\d{1,16}$/.exec(singleField(headers, INSIDE.fileLength) ?? '')?.[0];
  const length = Number(text ?? Number.NaN);
  const validators = tag === undefined ? undefined : versionOfTag(tag, length);
  if (tag === undefined || validators === undefined) {
    throw new MillraceError('bad-chunk-name', 'no version that can be pinned');
  }
  if (!isLegalChunk(range, length)) throw new MillraceError('bad-chunk-name', 'not a legal chunk');
  const digest = digestOfTag(tag);
  const version = { url, scope: 'public', length, validators, digest, tag, fields: {} } as const;
  const directUrl = singleField(headers, INSIDE.finalUrl);
  if (directUrl === undefined || directUrl === url) return { version, range };
  return { version, range, directUrl: readUrl(directUrl).href };
}

/** Returns true if the asking node knows files that came in one stream. */
export function readsStreams(req: IncomingMessage): boolean {
  return singleField(req.headers, INSIDE.streams) !== undefined;
}

/** Returns true if the asking node follows files that still come in one stream. */
export function follows(req: IncomingMessage): boolean {
  return singleField(req.headers, INSIDE.streams) === '2';
}

/** Returns true for a version that came in one stream. */
export function isStreamed({ version }: Pointer): boolean {
  return isStreamTag(version.tag);
}
