/** Requests of a pull, and the conditions that an answer must meet before a byte of it is stored. */

import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { checkRangeAnswer } from '../../http/answers/range-contract.ts';
import { statusError } from '../../http/answers/status-error.ts';
import { ifRange } from '../../http/fields/conditions.ts';
import { parseContentRange } from '../../http/fields/content-range.ts';
import { type Headers, singleField } from '../../http/fields/headers.ts';
import { formatRange } from '../../http/fields/range-header.ts';
import {
  canPin,
  matchVersion,
  readValidators,
  type Validators,
} from '../../http/fields/validators.ts';
import type { PullAsk, PulledVersion } from './pull-plan.ts';

/** Returns the fields that ask for a range of one version. */
export function pullFields({ range, version }: PullAsk): Record<string, string> {
  const condition = version === undefined ? undefined : ifRange(version);
  return {
    range: formatRange(range),
    ...(condition === undefined ? {} : { 'if-range': condition }),
  };
}

/**
 * Judges an answer by its status and its header: it must be exactly the range that was asked for, not
 * encoded, and of the version that was asked for.
 *
 * @param retryAfterMs the wait that the source asks for, if it does
 * @returns the version that it is of
 * @throws MillraceError `version-changed`, `version-unproven`, `range-ignored`, `range-not-satisfiable`
 *   for a part that the file does not have, those of `checkRangeAnswer`, and of the status
 */
export function judgePulled(
  ask: PullAsk,
  status: number,
  headers: Headers,
  retryAfterMs?: Millis,
): PulledVersion {
  const { range: asked } = ask;
  if (status === 416) throw behindEnd(ask, headers);
  if (status === 200) {
    checkVersion(ask, readValidators(headers));
    throw new MillraceError('range-ignored');
  }
  if (status !== 206) throw statusError(status, retryAfterMs);
  const { range, total: length, validators } = checkRangeAnswer(headers, asked);
  checkVersion(ask, validators, length);
  // Of the right version, so that it is the part that ends too far away.
  if (range.end !== asked.end) {
    throw new MillraceError('range-not-satisfiable', `the file ends at ${range.end}`);
  }
  return { validators, length };
}

/** Makes the error for a range behind the end: the file has become shorter, or was never as long. */
function behindEnd({ version, seen }: PullAsk, headers: Headers): MillraceError {
  const stated = parseContentRange(singleField(headers, 'content-range'));
  const length = stated?.kind === 'unsatisfied' ? stated.total : undefined;
  const isKnown = version !== undefined || seen !== undefined;
  if (isKnown && (length === undefined || length !== seen?.length)) {
    return new MillraceError('version-changed', 'the file is shorter');
  }
  const end = length === undefined ? '' : `the file ends at ${length}`;
  return new MillraceError('range-not-satisfiable', end);
}

/**
 * Checks that an answer is of the stated version, and of that of all bytes that the URL has given.
 *
 * @throws MillraceError `version-changed`, `version-unproven`
 */
function checkVersion(
  { version, seen, isProved }: PullAsk,
  got: Validators,
  length?: number,
): void {
  if (version !== undefined) checkMatch(version, got, false);
  if (seen === undefined) return;
  if (seen.length !== undefined && length !== undefined && seen.length !== length) {
    throw new MillraceError('version-changed', `length ${seen.length} became ${length}`);
  }
  // A version that only a weak tag or an unsure date names may have other bytes by now.
  checkMatch(seen.validators, got, isProved, canPin(seen.validators));
}

function checkMatch(expected: Validators, got: Validators, isProved: boolean, proves = true): void {
  const match = matchVersion(expected, got);
  if (match === 'different') throw new MillraceError('version-changed', 'another ETag or date');
  if (isProved || (match === 'same' && proves)) return;
  throw new MillraceError('version-unproven');
}
