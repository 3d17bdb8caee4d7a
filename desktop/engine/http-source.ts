/**
 * A source of a file: an edge that is asked with a prefixed URL, or the origin itself. Asks for
 * ranges, holds the answers to the range contract, and hands bytes on with their position.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { ERRORS, type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { MAX_REDIRECTS } from '@millrace/shared/base/limits';
import type { SourceHealth } from '@millrace/shared/download/source-health';
import { type Headers, listField, singleField } from '@millrace/shared/http/headers';
import { formatHttpDate } from '@millrace/shared/http/http-date';
import { MultipartReader, multipartBoundary } from '@millrace/shared/http/multipart-reader';
import { formatPrefixedUrl } from '@millrace/shared/http/prefixed-url';
import { PROBLEM_TYPE, type Problem } from '@millrace/shared/http/problem';
import {
  checkIdentity,
  checkRangeAnswer,
  checkVersion,
  type PinnedVersion,
  readContentLength,
} from '@millrace/shared/http/range-contract';
import { formatRange } from '@millrace/shared/http/range-header';
import { parseRetryAfter } from '@millrace/shared/http/retry-after';
import { readValidators, type Validators } from '@millrace/shared/http/validators';
import type { HttpClient, HttpStream } from '@millrace/shared/node/http-client';

export interface HttpSourceOptions {
  /** What people see: the edge's address, or the origin's host. */
  readonly label: string;
  /** URL of the file at the origin. */
  readonly url: string;
  /** Base URL of the edge; undefined: the origin itself. */
  readonly edge: string | undefined;
  /** Header fields sent with every request, the local token among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly client: HttpClient;
  readonly health: SourceHealth;
}

/** An answer that keeps the contract, its body not yet read. */
export type Opened =
  | {
      readonly kind: 'range';
      /** Bytes that the body covers. */
      readonly range: ByteRange;
      readonly version: PinnedVersion;
      readonly headers: Headers;
      /** Hands the body on; rejects where it is not all of `range`. */
      read(sink: Sink): Promise<void>;
      discard(): void;
    }
  | {
      /** The source sends the file in one piece only, or cannot show which version a range is of. */
      readonly kind: 'whole';
      readonly length: number | undefined;
      readonly validators: Validators;
      readonly headers: Headers;
      read(sink: Sink): Promise<void>;
      discard(): void;
    };

/**
 * Takes bytes at a position of the file; they must be copied before it returns.
 *
 * @returns undefined to go on, or a promise to hold the source back until it resolves
 */
export type Sink = (position: number, bytes: Uint8Array) => Promise<void> | undefined;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Problem documents are small; anything longer is none. */
const MAX_PROBLEM_BYTES = 16 * 1024;

export class HttpSource {
  readonly label: string;
  readonly edge: string | undefined;
  readonly health: SourceHealth;
  readonly #o: HttpSourceOptions;

  constructor(options: HttpSourceOptions) {
    this.label = options.label;
    this.edge = options.edge;
    this.health = options.health;
    this.#o = options;
  }

  /**
   * Asks for a range.
   *
   * @param pinned the version that the answer must be of; undefined: the first request
   * @returns kind `whole` only if nothing is pinned
   * @throws MillraceError; the signal's reason
   */
  async openRange(
    asked: ByteRange,
    pinned: PinnedVersion | undefined,
    signal: AbortSignal,
  ): Promise<Opened> {
    const headers: Record<string, string> = { range: formatRange(asked) };
    if (pinned !== undefined) {
      headers['if-range'] = ifRange(pinned.validators);
      if (this.edge !== undefined) headers.prefer = 'delivery=out-of-order, resume-on-reset';
    }
    const response = await this.#get(headers, signal);
    try {
      return understand(response, asked, pinned);
    } catch (error) {
      response.discard();
      throw error;
    }
  }

  /**
   * Asks for the whole file in one answer.
   *
   * @throws MillraceError; the signal's reason
   */
  async openWhole(signal: AbortSignal): Promise<Extract<Opened, { kind: 'whole' }>> {
    const response = await this.#get({}, signal);
    if (response.status !== 200) {
      response.discard();
      throw new MillraceError('origin-error', `it answered ${response.status}`);
    }
    return whole(response);
  }

  /** Sends a GET, follows redirects, and turns statuses that bring no file into errors. */
  async #get(headers: Record<string, string>, signal: AbortSignal): Promise<HttpStream> {
    const { url, edge, client } = this.#o;
    let target = new URL(edge === undefined ? url : formatPrefixedUrl(edge, url));
    const first = target.origin;
    for (let hop = 0; ; hop++) {
      // What the user gave for one host goes to no other.
      const own = target.origin === first ? this.#o.headers : {};
      const all = {
        'accept-encoding': 'identity',
        'user-agent': 'Millrace/0.1',
        ...own,
        ...headers,
      };
      const response = await client.get(target, all, signal);
      if (!REDIRECTS.has(response.status)) {
        if (response.status < 300 || response.status === 416) return response;
        throw await statusError(response, edge !== undefined);
      }
      response.discard();
      if (hop === MAX_REDIRECTS) throw new MillraceError('too-many-redirects');
      target = redirectTarget(response);
    }
  }
}

function understand(
  response: HttpStream,
  asked: ByteRange,
  pinned: PinnedVersion | undefined,
): Opened {
  const { status, headers } = response;
  if (status === 200) {
    const answer = whole(response);
    if (pinned === undefined) return answer;
    // If-Range failed: another version; or the source has stopped serving ranges.
    checkVersion(pinned, answer.length, answer.validators);
    throw new MillraceError('range-ignored');
  }
  if (status === 416) {
    if (pinned !== undefined) throw new MillraceError('version-changed', 'it has become shorter');
    const empty = /^bytes \*\/0$/i.test(singleField(headers, 'content-range')?.trim() ?? '');
    if (!empty) throw new MillraceError('malformed-response', '416 for the beginning of a file');
    response.discard();
    const nothing = { read: async () => {}, discard() {} };
    return { kind: 'whole', length: 0, validators: {}, headers, ...nothing };
  }
  if (status !== 206) throw new MillraceError('malformed-response', `it answered ${status}`);
  const boundary = multipartBoundary(listField(headers, 'content-type'));
  return boundary === undefined
    ? singleRange(response, asked, pinned)
    : outOfOrder(response, boundary, asked, pinned);
}

function singleRange(
  response: HttpStream,
  asked: ByteRange,
  pinned: PinnedVersion | undefined,
): Opened {
  const { range, total, validators } = checkRangeAnswer(response.headers, asked, pinned);
  if (total === undefined) {
    throw new MillraceError('range-ignored', 'the length of the file is not known');
  }
  return {
    kind: 'range',
    range,
    version: { length: total, validators },
    headers: response.headers,
    read: (sink) =>
      readBody(response, range.end - range.start, (offset, bytes) =>
        sink(range.start + offset, bytes),
      ),
    discard: () => response.discard(),
  };
}

/** One part per chunk, in any order; together they must be what was asked for. */
function outOfOrder(
  response: HttpStream,
  boundary: string,
  asked: ByteRange,
  pinned: PinnedVersion | undefined,
): Opened {
  checkIdentity(response.headers);
  const validators = readValidators(response.headers);
  if (pinned === undefined) {
    // Where the file ends is only said in the first part, which has not come yet: without a
    // pinned version this form is of no use.
    throw new MillraceError('malformed-response', 'parts before the length is known');
  }
  checkVersion(pinned, undefined, validators);
  const range = { start: asked.start, end: Math.min(asked.end, pinned.length) };
  return {
    kind: 'range',
    range,
    version: pinned,
    headers: response.headers,
    read: (sink) => readParts(response, new MultipartReader(boundary), range, pinned, sink),
    discard: () => response.discard(),
  };
}

async function readParts(
  response: HttpStream,
  reader: MultipartReader,
  range: ByteRange,
  pinned: PinnedVersion,
  sink: Sink,
): Promise<void> {
  let bytes = 0;
  await pump(response, (piece) => {
    let wait: Promise<void> | undefined;
    for (const event of reader.push(piece)) {
      if (event.kind === 'part') {
        if (event.total !== pinned.length) throw new MillraceError('version-changed', 'its length');
        if (event.range.start < range.start || event.range.end > range.end) {
          throw new MillraceError('wrong-range', 'a part that was not asked for');
        }
      } else if (event.kind === 'data') {
        bytes += event.bytes.length;
        wait = sink(event.position, event.bytes) ?? wait;
      }
    }
    return wait;
  });
  if (!reader.ended || bytes !== range.end - range.start) {
    throw new MillraceError('wrong-length', `${bytes} of ${range.end - range.start} bytes`);
  }
}

function whole(response: HttpStream): Extract<Opened, { kind: 'whole' }> {
  checkIdentity(response.headers);
  const length = readContentLength(response.headers);
  return {
    kind: 'whole',
    length,
    validators: readValidators(response.headers),
    headers: response.headers,
    read: (sink) => readBody(response, length, sink),
    discard: () => response.discard(),
  };
}

/** A body in one piece; `length` bytes exactly, where that is known. */
async function readBody(
  response: HttpStream,
  length: number | undefined,
  sink: Sink,
): Promise<void> {
  let offset = 0;
  await pump(response, (piece) => {
    const at = offset;
    offset += piece.length;
    if (length !== undefined && offset > length) {
      throw new MillraceError('wrong-length', `more than ${length} bytes`);
    }
    return sink(at, piece);
  });
  if (length !== undefined && offset !== length) {
    throw new MillraceError('wrong-length', `${offset} of ${length} bytes`);
  }
}

/** Takes the body piece by piece, holding the source back while `take` is not ready. */
async function pump(
  response: HttpStream,
  take: (piece: Buffer) => Promise<void> | undefined,
): Promise<void> {
  let failure: unknown;
  const fail = (error: unknown) => {
    failure ??= error;
    response.discard();
  };
  try {
    await response.pipe((piece, resume) => {
      if (failure !== undefined) return true;
      try {
        const wait = take(piece);
        wait?.then(resume, fail);
        return wait === undefined;
      } catch (error) {
        fail(error);
        return true;
      }
    });
  } catch (error) {
    throw failure ?? error;
  }
  if (failure !== undefined) throw failure;
}

/** The error that a status stands for; an edge says itself what it is. */
async function statusError(response: HttpStream, isEdge: boolean): Promise<MillraceError> {
  const { status, headers, arrivedAt } = response;
  const retryAfterMs = parseRetryAfter(listField(headers, 'retry-after'), arrivedAt);
  const problem = isEdge ? await readProblem(response) : undefined;
  response.discard();
  if (problem !== undefined) {
    return new MillraceError(problem.code, problem.detail, { retryAfterMs });
  }
  const detail = `it answered ${status}`;
  if (status === 404) return new MillraceError('origin-not-found', detail);
  if (status === 410) return new MillraceError('origin-gone', detail);
  if (status === 429 || status === 503) {
    return new MillraceError('origin-busy', detail, { retryAfterMs });
  }
  if (status >= 400 && status < 500) return new MillraceError('origin-denied', detail);
  return new MillraceError('origin-error', detail);
}

async function readProblem(
  response: HttpStream,
): Promise<{ code: ErrorCode; detail: string } | undefined> {
  const type = listField(response.headers, 'content-type') ?? '';
  if (!type.startsWith(PROBLEM_TYPE)) return undefined;
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    await pump(response, (piece) => {
      bytes += piece.length;
      if (bytes > MAX_PROBLEM_BYTES) throw new MillraceError('malformed-response');
      pieces.push(Buffer.from(piece));
      return undefined;
    });
    const problem = JSON.parse(Buffer.concat(pieces).toString()) as Partial<Problem>;
    if (typeof problem.code !== 'string' || !Object.hasOwn(ERRORS, problem.code)) return undefined;
    return { code: problem.code as ErrorCode, detail: String(problem.reason ?? '') };
  } catch {
    return undefined;
  }
}

function redirectTarget(response: HttpStream): URL {
  const location = singleField(response.headers, 'location');
  try {
    const target = new URL(location ?? '', response.url);
    target.hash = '';
    if (target.protocol === 'http:' || target.protocol === 'https:') return target;
  } catch {
    // Reported below with all others.
  }
  throw new MillraceError('bad-redirect', `Location "${location}"`);
}

function ifRange(validators: Validators): string {
  return validators.etag ?? formatHttpDate(validators.lastModified as number);
}
