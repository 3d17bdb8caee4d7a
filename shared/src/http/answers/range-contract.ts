/**
 * Checks the range contract: the conditions that an answer to a range request must meet before any
 * byte of it is used. Download managers that skip these checks report success on corrupt files.
 * Both the edge's egress and the download engine use this module (NSDI 3.3, "correctness
 * checking").
 */

import { type ByteRange, rangeBytes } from '../../base/byte-range.ts';
import { MillraceError } from '../../base/errors.ts';
import { parseContentRange } from '../fields/content-range.ts';
import { type Headers, listField, singleField } from '../fields/headers.ts';
import { formatRange } from '../fields/range-header.ts';
import { matchVersion, readValidators, type Validators } from '../fields/validators.ts';
import { multipartBoundary } from '../messages/multipart-reader.ts';
import { statusError } from './status-error.ts';

/**
 * Values of Content-Encoding that name no coding of the body: some servers put the encoding of its
 * text there, or the way in which the file was uploaded.
 */
const NO_CODINGS: ReadonlySet<string> = new Set([
  ...['', 'identity', 'none', 'binary', '7bit', '8bit', 'utf-8', 'utf8', 'us-ascii'],
  ...['iso-8859-1', 'windows-1252', 'aws-chunked'],
]);

/** Codings of a body: some tokens, comma-separated (RFC 9110 8.4), and few enough to pass on. */
const CODINGS = /^[\w!#$%&'*+.^`|~-]{1,40}(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]{1,40}){0,7}$/;

/** The version that an answer must be of. */
export interface PinnedVersion {
  readonly length: number;
  readonly validators: Validators;
}

/** Contents of a 206 that keeps the contract. */
export interface RangeAnswer {
  /** The bytes in the body: the requested ones, or fewer only if the file ends before. */
  readonly range: ByteRange;
  /** Length of the whole file; undefined if the source does not state it. */
  readonly total: number | undefined;
  readonly validators: Validators;
}

/** The kind and contents of an answer to a range request that keeps the contract. */
export type Judged =
  | { readonly kind: 'range'; readonly range: ByteRange; readonly version: PinnedVersion }
  /** Parts of the range in any order, each with its position (RFC 9110 14.6). */
  | {
      readonly kind: 'parts';
      readonly range: ByteRange;
      readonly version: PinnedVersion;
      readonly boundary: string;
    }
  /** Parts while no version is pinned: only the parts state the length of the file. */
  | {
      readonly kind: 'first-parts';
      readonly validators: Validators;
      readonly boundary: string;
    }
  /** The whole file, from a source that serves no ranges. */
  | {
      readonly kind: 'whole';
      readonly length: number | undefined;
      readonly validators: Validators;
    }
  /** The file has no bytes. */
  | { readonly kind: 'empty' };

/**
 * Judges an answer to a range request by its status and its header.
 *
 * @param asked the requested range; it may end past the end of the file
 * @param pinned the version that the answer must be of; undefined: the first request, the only one
 *   that may be answered with the whole file or show an empty one
 * @throws MillraceError of `checkRangeAnswer`; `range-ignored` for an unwanted whole file and for
 *   an unknown length; the errors of other statuses
 */
export function judgeAnswer(
  status: number,
  headers: Headers,
  asked: ByteRange,
  pinned: PinnedVersion | undefined,
): Judged {
  if (status === 206) {
    const boundary = multipartBoundary(listField(headers, 'content-type'));
    return boundary === undefined
      ? judgeRange(headers, asked, pinned)
      : judgeParts(headers, boundary, asked, pinned);
  }
  if (status === 200) {
    const whole = judgeWhole(headers);
    if (pinned === undefined) return whole;
    // Either If-Range found another version, or the source has stopped serving ranges.
    checkVersion(pinned, whole.length, whole.validators);
    throw new MillraceError('range-ignored');
  }
  if (status !== 416) throw statusError(status);
  if (pinned !== undefined) throw new MillraceError('version-changed', { code: 'become-shorter' });
  const nothing = /^bytes \*\/0$/i.test(singleField(headers, 'content-range')?.trim() ?? '');
  if (!nothing) throw statusError(status);
  return { kind: 'empty' };
}

/**
 * Judges the header of an answer with the whole file.
 *
 * @throws MillraceError `wrong-encoding`; `wrong-range` for a part that comes as a whole, and says
 *   so
 */
export function judgeWhole(headers: Headers): Extract<Judged, { kind: 'whole' }> {
  checkIdentity(headers);
  return judgeWholeAsSent(headers);
}

/**
 * Judges the header of an answer with the whole file, whose body may be encoded: lengths are those
 * of the body as it is sent.
 *
 * @throws MillraceError `wrong-encoding` for a coding without a proper name, and as `judgeWhole`
 */
export function judgeWholeAsSent(headers: Headers): Extract<Judged, { kind: 'whole' }> {
  const coding = contentCoding(headers);
  if (coding !== undefined && !CODINGS.test(coding)) {
    throw new MillraceError('wrong-encoding', coding);
  }
  const length = readContentLength(headers);
  const field = listField(headers, 'content-range');
  const stated = parseContentRange(field);
  if (stated?.kind === 'range') {
    const { range, total = range.end } = stated;
    if ((length ?? rangeBytes(range)) !== total) {
      throw new MillraceError('wrong-range', `200 with Content-Range "${field}"`);
    }
  }
  return { kind: 'whole', length, validators: readValidators(headers) };
}

function judgeRange(headers: Headers, asked: ByteRange, pinned: PinnedVersion | undefined): Judged {
  const { range, total, validators } = checkRangeAnswer(headers, asked, pinned);
  if (total === undefined) {
    throw new MillraceError('range-ignored', { code: 'length-unknown' });
  }
  return { kind: 'range', range, version: { length: total, validators } };
}

/** Judges the header of a 206 with parts, one per chunk, which must add up to the range. */
function judgeParts(
  headers: Headers,
  boundary: string,
  asked: ByteRange,
  pinned: PinnedVersion | undefined,
): Judged {
  checkIdentity(headers);
  const validators = readValidators(headers);
  if (pinned === undefined) return { kind: 'first-parts', validators, boundary };
  checkVersion(pinned, undefined, validators);
  const range = { start: asked.start, end: Math.min(asked.end, pinned.length) };
  return { kind: 'parts', range, version: pinned, boundary };
}

/**
 * Checks the header of a 206 with a single range.
 *
 * @param asked the requested range; it may end past the end of the file. For an infinite end, an
 *   answer may end where the server likes (RFC 9110 14.2)
 * @param pinned the version that the answer must be of; undefined: any
 * @throws MillraceError `wrong-encoding`, `malformed-response`, `wrong-range`, `wrong-length`,
 *   `version-changed` or `version-unproven`
 */
export function checkRangeAnswer(
  headers: Headers,
  asked: ByteRange,
  pinned?: PinnedVersion,
): RangeAnswer {
  checkIdentity(headers);
  const field = singleField(headers, 'content-range');
  const contentRange = parseContentRange(field);
  if (contentRange?.kind !== 'range') {
    throw new MillraceError('malformed-response', `206 with Content-Range "${field ?? ''}"`);
  }
  const { range, total } = contentRange;
  const validators = readValidators(headers);
  if (pinned !== undefined) checkVersion(pinned, total, validators);
  const end = total === undefined ? asked.end : Math.min(asked.end, total);
  const isOpen = asked.end === Number.POSITIVE_INFINITY && total !== undefined;
  const isEnd = range.end === end || isOpen;
  if (range.start !== asked.start || !isEnd) {
    throw new MillraceError(
      'wrong-range',
      `asked for ${formatRange(asked).replace('=', ' ')}, got Content-Range "${field}"`,
    );
  }
  const length = readContentLength(headers);
  if (length !== undefined && length !== range.end - range.start) {
    throw new MillraceError('wrong-length', `Content-Length ${length} with "${field}"`);
  }
  return { range, total, validators };
}

/**
 * Returns true for a part that its server sends with status 200 instead of 206, as `rclone serve s3`
 * does. Its Content-Range must be what was asked for, and its length that of the part and not of the
 * file: such a body cannot be the whole file.
 *
 * @param asked Range field of the request
 */
export function isMislabelledPart(headers: Headers, asked: string | undefined): boolean {
  const found = parseContentRange(singleField(headers, 'content-range'));
  const [, from, to = ''] = /^bytes=(\d{1,16})-(\d{0,16})$/.exec(asked ?? '') ?? [];
  if (found?.kind !== 'range' || found.total === undefined || from === undefined) return false;
  const { range, total } = found;
  const end = to === '' ? total : Math.min(total, Number(to) + 1);
  const length = range.end - range.start;
  const isAsked = range.start === Number(from) && range.end === end;
  return isAsked && length < total && readContentLength(headers) === length;
}

/**
 * Returns true for a part that is the whole: its Content-Range covers the file, and its body is as
 * long. This holds for an encoded body as well, whether the file or the part was encoded.
 */
export function isWholePart(headers: Headers): boolean {
  const stated = parseContentRange(singleField(headers, 'content-range'));
  if (stated?.kind !== 'range' || stated.range.start !== 0) return false;
  return stated.range.end === stated.total && readContentLength(headers) === stated.total;
}

/**
 * Checks that the body of a response is the file itself, not an encoding of it.
 *
 * @throws MillraceError `wrong-encoding`
 */
export function checkIdentity(headers: Headers): void {
  const coding = contentCoding(headers);
  if (coding !== undefined) throw new MillraceError('wrong-encoding', coding);
}

/** Returns the coding of a body, in lower case; undefined: the body is the file itself. */
export function contentCoding(headers: Headers): string | undefined {
  const coding = listField(headers, 'content-encoding')?.trim().toLowerCase() ?? '';
  return NO_CODINGS.has(coding) ? undefined : coding;
}

/**
 * Checks that a response is of the pinned version.
 *
 * @throws MillraceError `version-changed` or `version-unproven`
 */
export function checkVersion(
  pinned: PinnedVersion,
  total: number | undefined,
  validators: Validators,
): void {
  if (total !== undefined && total !== pinned.length) {
    throw new MillraceError('version-changed', {
      code: 'length-became',
      values: { beforeBytes: pinned.length, nowBytes: total },
    });
  }
  const match = matchVersion(pinned.validators, validators);
  if (match === 'different')
    throw new MillraceError('version-changed', { code: 'other-validators' });
  if (match === 'unproven') throw new MillraceError('version-unproven');
}

/**
 * Returns true if an answer names another version than the pinned one: by a validator, or by the
 * length that it gives with 416 (RFC 9110 15.5.17). A page in place of the file, for people whose
 * link has expired, names none.
 */
export function namesOther(status: number, headers: Headers, pinned: PinnedVersion): boolean {
  if (status === 416) {
    const stated = parseContentRange(singleField(headers, 'content-range'));
    return stated?.kind === 'unsatisfied' && stated.total !== pinned.length;
  }
  return matchVersion(pinned.validators, readValidators(headers)) === 'different';
}

/**
 * Reads Content-Length; undefined if it is absent.
 *
 * @throws MillraceError `malformed-response`
 */
export function readContentLength(headers: Headers): number | undefined {
  const field = singleField(headers, 'content-length')?.trim();
  if (field === undefined) return undefined;
  const length = /^\d{1,16}$/.test(field) ? Number(field) : Number.NaN;
  if (!Number.isSafeInteger(length)) {
    throw new MillraceError('malformed-response', `Content-Length "${field}"`);
  }
  return length;
}
