/**
 * Answers of sources, checked against the range contract before any of their bytes is used: status,
 * range, length, encoding, version and, if the source states one, the digest of the content (RFC
 * 9110
 * 14.4, RFC 9530; NSDI 3.3).
 */

import { createHash } from 'node:crypto';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { strongest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import {
  type Judged,
  judgeAnswer,
  judgeWhole,
  type PinnedVersion,
} from '@millrace/shared/http/answers/range-contract';
import { statusError } from '@millrace/shared/http/answers/status-error';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { contentDigests } from '@millrace/shared/http/fields/digest-fields';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import type { Validators } from '@millrace/shared/http/fields/validators';
import type { HttpStream } from '@millrace/shared/node/http-client';
import type { RoomForPiece } from '@millrace/shared/node/piece-reader';
import { decodingOf, transferDecodingOf } from '../net/content-decoder.ts';
import { beginParts, readParts } from './parts-body.ts';
import { pump } from './pump.ts';

/** An answer that keeps the contract; its body has not been read yet. */
export type Opened =
  | {
      readonly kind: 'range';
      /** Bytes that the body covers. */
      readonly range: ByteRange;
      readonly version: PinnedVersion;
      readonly headers: Headers;
      /**
       * The source states a digest of the body, so no byte counts until the whole body is checked.
       */
      readonly checked: boolean;
      /** Time from the request, on an open connection, to the head, in milliseconds. */
      readonly headMs: number;
      /** True if the bytes come in order, and count as they come. */
      readonly isPlain: boolean;
      /** Passes the body to the sink; rejects if the body is not all of `range`. */
      read(sink: Sink, room?: RoomForPiece): Promise<void>;
      discard(): void;
    }
  | {
      /** The source sends only the whole file, or cannot show which version a range is of. */
      readonly kind: 'whole';
      readonly length: number | undefined;
      readonly validators: Validators;
      /** True if the body was encoded: lengths that ranges stated do not apply to it. */
      readonly isDecoded: boolean;
      readonly headers: Headers;
      readonly checked: false;
      read(sink: Sink, room?: RoomForPiece): Promise<void>;
      discard(): void;
    };

const VALIDATOR_FIELDS = ['etag', 'last-modified', 'date'] as const;

/** An answer with the whole file. */
export type WholeAnswer = Extract<Opened, { kind: 'whole' }>;

/**
 * Returns true for a web page: a log-in or an error, whatever the status, unless the file is one.
 */
export function isPage({ headers }: Opened): boolean {
  return /^text\/html/i.test(listField(headers, 'content-type') ?? '');
}

/**
 * Checks an answer to a range request against the contract.
 *
 * @param asked the range that was asked for
 * @param pinned the version that the answer must be of; undefined for the first request
 * @throws MillraceError if the answer breaks the contract; by then at most the header of the body's
 *   first part has been read
 */
export async function understand(
  response: HttpStream,
  asked: ByteRange,
  pinned: PinnedVersion | undefined,
): Promise<Opened> {
  const { status, headers, headMs } = response;
  const judged = judgeAnswer(status, headers, asked, pinned);
  const discard = () => response.discard();
  if (judged.kind === 'whole') return whole(response, judged);
  if (judged.kind === 'empty') {
    discard();
    const read = async () => {};
    const nothing = { length: 0, validators: {}, isDecoded: false, checked: false } as const;
    return { kind: 'whole', ...nothing, headers, read, discard };
  }
  if (judged.kind === 'first-parts') {
    const { range, length, read } = await beginParts(response, judged.boundary, asked);
    const version = { length, validators: judged.validators };
    return {
      kind: 'range',
      range,
      version,
      headers,
      checked: false,
      headMs,
      isPlain: false,
      read,
      discard,
    };
  }
  const { range, version } = judged;
  const opened = { kind: 'range' as const, range, version, headers, headMs, discard };
  if (judged.kind === 'parts') {
    const { boundary } = judged;
    const read = (sink: Sink) => readParts(response, boundary, range, version.length, () => sink);
    return { ...opened, checked: false, isPlain: false, read };
  }
  const checked = strongest(contentDigests(headers, status)) !== undefined;
  return {
    ...opened,
    checked,
    isPlain: !checked,
    read: (sink, room) =>
      readBody(
        response,
        range.end - range.start,
        (offset, bytes) => sink(range.start + offset, bytes),
        room,
      ),
  };
}

/**
 * Makes the hash for a body whose digest the source states (RFC 9530, 2); undefined if it states
 * none.
 */
function contentCheck({ headers, status }: HttpStream) {
  const digest = strongest(contentDigests(headers, status));
  if (digest === undefined) return undefined;
  const hash = createHash(digest.algorithm);
  return {
    update: (bytes: Uint8Array) => void hash.update(bytes),
    /** @throws MillraceError `wrong-digest` */
    finish() {
      const hex = hash.digest('hex');
      if (hex !== digest.hex)
        throw new MillraceError('wrong-digest', {
          code: 'digest-found',
          values: { algorithm: digest.algorithm, hex },
        });
    },
  };
}

/**
 * Understands the answer to a request for the whole file. A body that is encoded all the same is
 * decoded: its coding shows whether it is complete.
 *
 * @throws MillraceError for an answer without the file, or with an unknown coding
 */
export function wholeOf(response: HttpStream): WholeAnswer {
  const { status, url } = response;
  // The request named no range that could not be satisfied: the server is in disorder.
  if (status === 416)
    throw new MillraceError('origin-error', { code: 'answered', values: { status: 416 } });
  if (status !== 200 && !isWholeRange(response)) throw statusError(status);
  // One answer needs no validators: those that contradict each other do not matter.
  const headers = withoutContradictions(response.headers);
  const decoding = decodingOf(headers, url);
  if (decoding === undefined) return whole(response, judgeWhole(headers), headers);
  const { 'content-encoding': _coding, 'repr-digest': _digest, digest: _old, ...rest } = headers;
  const encoded = judgeWhole(rest);
  const { decodes } = decoding;
  return {
    ...encoded,
    length: decodes ? undefined : encoded.length,
    isDecoded: decodes,
    checked: false,
    headers: decodes ? rest : headers,
    read: (sink) => {
      let at = 0;
      return decoding.run(
        (take) => readBody(response, encoded.length, (_position, piece) => take(piece), undefined),
        (piece) => {
          at += piece.length;
          return sink(at - piece.length, piece);
        },
      );
    },
    discard: () => response.discard(),
  };
}

/** Returns true for a 206 that has all of the file though no range was asked for. */
function isWholeRange({ status, headers }: HttpStream): boolean {
  const stated = parseContentRange(listField(headers, 'content-range'));
  if (status !== 206 || stated?.kind !== 'range' || stated.range.start !== 0) return false;
  return stated.total === undefined || stated.total === stated.range.end;
}

function withoutContradictions(headers: Headers): Headers {
  const differs = (value: Headers[string]) =>
    Array.isArray(value) && value.some((other) => other !== value[0]);
  const contradictory = VALIDATOR_FIELDS.filter((name) => differs(headers[name]));
  return { ...headers, ...Object.fromEntries(contradictory.map((name) => [name, undefined])) };
}

function whole(
  response: HttpStream,
  judged: Extract<Judged, { kind: 'whole' }>,
  headers = response.headers,
): WholeAnswer {
  return {
    ...judged,
    isDecoded: false,
    checked: false,
    headers,
    read: (sink, room) => readBody(response, judged.length, sink, room),
    discard: () => response.discard(),
  };
}

/** Reads a body in one piece, which must have exactly `length` bytes if that is given. */
async function readBody(
  response: HttpStream,
  length: number | undefined,
  sink: Sink,
  room: RoomForPiece | undefined,
): Promise<void> {
  let offset = 0;
  const check = contentCheck(response);
  const take = (piece: Uint8Array) => {
    const at = offset;
    offset += piece.length;
    check?.update(piece);
    if (length !== undefined && offset > length) {
      throw new MillraceError('wrong-length', {
        code: 'too-many-bytes',
        values: { mostBytes: length },
      });
    }
    return sink(at, piece);
  };
  const decode = transferDecodingOf(response.headers);
  if (decode === undefined) await pump(response, take, room);
  else await decode((into) => pump(response, into), take);
  // A body that ends early is a broken connection, however clean its end looks (ANYCAST 3.1.1).
  if (length !== undefined && offset !== length) {
    throw new MillraceError('origin-reset', {
      code: 'part-came',
      values: { hasBytes: offset, wantedBytes: length },
    });
  }
  check?.finish();
}
