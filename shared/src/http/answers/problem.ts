/** Errors as application/problem+json (RFC 9457), from the one table. */

import type { Millis } from '../../base/clock.ts';
import { isErrorCode, MillraceError } from '../../base/errors.ts';

/** The body of a problem document. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Our own members: the table's code, the details of this occurrence, and whether to retry. */
  readonly code: string;
  readonly reason: string;
  readonly retryable: boolean;
}

/** Content-Type of a problem document. */
export const PROBLEM_TYPE = 'application/problem+json';

/** Describes an error of the table. */
export function toProblem(error: MillraceError): Problem {
  const { status, title, retryable } = error.row;
  return {
    type: `urn:millrace:error:${error.code}`,
    title,
    status,
    detail: whyAndWhat(error),
    code: error.code,
    reason: error.detail,
    retryable,
  };
}

/** Problem documents are small; anything longer is none. In bytes. */
export const MAX_PROBLEM_BYTES = 16 * 1024;

/**
 * The error that a node says it has met.
 *
 * @param text body of a problem document, at most `MAX_PROBLEM_BYTES`
 * @param retryAfterMs value of its Retry-After field
 * @returns undefined where it names no error of the table
 */
export function readProblem(text: string, retryAfterMs?: Millis): MillraceError | undefined {
  try {
    return problemError(JSON.parse(text), retryAfterMs);
  } catch {
    return undefined;
  }
}

/** The same for a document that has been parsed. @returns undefined where it is none */
export function problemError(document: unknown, retryAfterMs?: Millis): MillraceError | undefined {
  const { code, reason } = (document ?? {}) as Partial<Record<keyof Problem, unknown>>;
  if (!isErrorCode(code)) return undefined;
  return new MillraceError(code, typeof reason === 'string' ? reason : '', { retryAfterMs });
}

/**
 * The same error for the node that asked another node for a file: the disk or the program of that
 * machine is not this one's. That node has failed, and others are asked.
 */
export function readSourceProblem(text: string, retryAfterMs?: Millis): MillraceError | undefined {
  const error = readProblem(text, retryAfterMs);
  if (error?.row.scope !== 'download') return error;
  return new MillraceError('origin-error', error.row.title, { retryAfterMs, cause: error });
}

/** Writes an error's details, where there are any, and its advice. */
export function whyAndWhat({ detail, row }: MillraceError): string {
  if (detail === '') return row.advice;
  // Words begin with a capital letter; hosts, types and URLs stay as they are.
  const begin = /^[a-z]+(?=[ ,])/.test(detail) ? detail.charAt(0).toUpperCase() : detail.charAt(0);
  return `${begin}${detail.slice(1)}. ${row.advice}`;
}
