/**
 * Decides how to answer a GET or HEAD of a file whose version is known: conditional requests and
 * ranges, in the order of precedence of RFC 9110 13.2.2.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { ifRangeHolds } from '../fields/conditions.ts';
import { type Headers, listField } from '../fields/headers.ts';
import { parseHttpDate } from '../fields/http-date.ts';
import { prefersOutOfOrder } from '../fields/prefer.ts';
import { parseRange, resolveRanges } from '../fields/range-header.ts';
import {
  etagMatchesStrongly,
  etagMatchesWeakly,
  parseEtagList,
  type Validators,
} from '../fields/validators.ts';

export type Answer =
  | { readonly kind: 'precondition-failed' }
  | { readonly kind: 'not-modified' }
  | { readonly kind: 'unsatisfiable' }
  | { readonly kind: 'whole' }
  | {
      readonly kind: 'ranges';
      /** Non-empty, disjoint, inside the file, in the order to be sent. */
      readonly ranges: readonly ByteRange[];
      /** True if the client asked for one part per chunk in any order, and gets it. */
      readonly outOfOrder: boolean;
    };

export interface AnsweredFile {
  readonly length: number;
  readonly validators: Validators;
  /**
   * Time by which the stored response had been generated (`generatedBy`), for If-Modified-Since
   * where there is no Last-Modified; undefined: that condition then proves nothing.
   */
  readonly generatedBy?: Millis | undefined;
}

/**
 * Decides how to answer a request for a file.
 *
 * @param method GET or HEAD
 * @param headers the client's request header
 */
export function decideAnswer(method: string, headers: Headers, file: AnsweredFile): Answer {
  const early = evaluatePreconditions(headers, file);
  if (early !== undefined) return early;

  // Range is defined for GET alone; elsewhere it is ignored (RFC 9110 14.2).
  const specs = method === 'GET' ? parseRange(listField(headers, 'range')) : undefined;
  if (specs === undefined || !ifRangeHolds(listField(headers, 'if-range'), file.validators)) {
    return { kind: 'whole' };
  }
  const ranges = resolveRanges(specs, file.length);
  if (ranges === undefined) return { kind: 'whole' };
  if (ranges.length === 0) return { kind: 'unsatisfiable' };
  return { kind: 'ranges', ranges, outOfOrder: prefersOutOfOrder(listField(headers, 'prefer')) };
}

function evaluatePreconditions(
  headers: Headers,
  { validators: v, generatedBy }: AnsweredFile,
): Answer | undefined {
  const ifMatch = listField(headers, 'if-match');
  const unmodifiedSince = parseHttpDate(listField(headers, 'if-unmodified-since'));
  if (ifMatch !== undefined) {
    const tags = parseEtagList(ifMatch);
    if (tags !== '*' && !tags.some((tag) => etagMatchesStrongly(tag, v))) {
      return { kind: 'precondition-failed' };
    }
  } else if (unmodifiedSince !== undefined && v.lastModified !== undefined) {
    if (v.lastModified > unmodifiedSince) return { kind: 'precondition-failed' };
  }

  const ifNoneMatch = listField(headers, 'if-none-match');
  const modifiedSince = parseHttpDate(listField(headers, 'if-modified-since'));
  if (ifNoneMatch !== undefined) {
    const tags = parseEtagList(ifNoneMatch);
    if (tags === '*' || tags.some((tag) => etagMatchesWeakly(tag, v))) {
      return { kind: 'not-modified' };
    }
  } else if (modifiedSince !== undefined) {
    const changedBy = v.lastModified ?? generatedBy;
    if (changedBy !== undefined && changedBy <= modifiedSince) return { kind: 'not-modified' };
  }
  return undefined;
}
