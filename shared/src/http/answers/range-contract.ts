/**
 * The range contract: what an answer to a range request must say before a single byte of it is
 * used. Download managers that skip these checks report success on corrupt files; both the edge's
 * egress and the download engine go through here (NSDI 3.3, "correctness checking").
 */

import type { ByteRange } from '../../base/byte-range.ts';
import { MillraceError } from '../../base/errors.ts';
import { parseContentRange } from '../fields/content-range.ts';
import { type Headers, listField, singleField } from '../fields/headers.ts';
import { matchVersion, readValidators, type Validators } from '../fields/validators.ts';

/** The version that an answer must be of. */
export interface PinnedVersion {
  readonly length: number;
  readonly validators: Validators;
}

/** What a 206 that keeps the contract says. */
export interface RangeAnswer {
  /** The bytes that follow: those asked for, or fewer only because the file ends there. */
  readonly range: ByteRange;
  /** Length of the whole file; undefined where the source does not know it. */
  readonly total: number | undefined;
  readonly validators: Validators;
}

/**
 * Checks the header of a 206 with a single range.
 *
 * @param asked the range that was asked for; its end may lie past the file's
 * @param pinned the version that it must belong to, where one is pinned
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
  if (range.start !== asked.start || range.end !== end) {
    throw new MillraceError(
      'wrong-range',
      `asked for bytes ${asked.start}-${end - 1}, got Content-Range "${field}"`,
    );
  }
  const length = readContentLength(headers);
  if (length !== undefined && length !== range.end - range.start) {
    throw new MillraceError('wrong-length', `Content-Length ${length} with "${field}"`);
  }
  return { range, total, validators };
}

/**
 * Checks that a response's body is the file itself, not an encoding of it.
 *
 * @throws MillraceError `wrong-encoding`
 */
export function checkIdentity(headers: Headers): void {
  const encoding = listField(headers, 'content-encoding')?.trim().toLowerCase();
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity') {
    throw new MillraceError('wrong-encoding', encoding);
  }
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
    throw new MillraceError('version-changed', `length ${pinned.length} became ${total}`);
  }
  const match = matchVersion(pinned.validators, validators);
  if (match === 'different') throw new MillraceError('version-changed', 'another ETag or date');
  if (match === 'unproven') throw new MillraceError('version-unproven');
}

/**
 * Content-Length, or undefined where there is none.
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
