/** Writes and reads the errors of the table as application/problem+json (RFC 9457). */

import type { Millis } from '../../base/clock.ts';
import { isErrorCode, MillraceError } from '../../base/errors.ts';

/** The body of a problem document. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Members of Millrace: the table's code, the details of this occurrence, whether to retry. */
  readonly code: string;
  readonly reason: string;
  readonly retryable: boolean;
}

/** Content-Type of a problem document. */
export const PROBLEM_TYPE = 'application/problem+json';

/** Makes the problem document of an error. */
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

/** Longest body that is read as a problem document, in bytes: such documents are small. */
export const MAX_PROBLEM_BYTES = 16 * 1024;

/**
 * Reads the error that a node reports.
 *
 * @param text body of a problem document, at most `MAX_PROBLEM_BYTES`
 * @param retryAfterMs value of its Retry-After field
 * @returns undefined if the document names no error of the table
 */
export function readProblem(text: string, retryAfterMs?: Millis): MillraceError | undefined {
  try {
    return problemError(JSON.parse(text), retryAfterMs);
  } catch {
    return undefined;
  }
}

/** Reads a parsed problem document. @returns undefined if it names no error of the table */
export function problemError(document: unknown, retryAfterMs?: Millis): MillraceError | undefined {
  const { code, reason } = (document ?? {}) as Partial<Record<keyof Problem, unknown>>;
  if (!isErrorCode(code)) return undefined;
  return new MillraceError(code, typeof reason === 'string' ? reason : '', { retryAfterMs });
}

/**
 * Reads the error of a node that was asked for a file. An error about that node's own disk or
 * program must not end the download here: it becomes `origin-error`, and other sources are asked.
 */
export function readSourceProblem(text: string, retryAfterMs?: Millis): MillraceError | undefined {
  const error = readProblem(text, retryAfterMs);
  if (error?.row.scope !== 'download') return error;
  return new MillraceError('origin-error', error.row.title, { retryAfterMs, cause: error });
}

/** Returns an error's details, if there are any, and its advice. */
export function whyAndWhat({ detail, row }: MillraceError): string {
  if (detail === '') return row.advice;
  // Capitalize plain words; hosts, types and URLs stay as they are.
  const begin = /^[a-z]+(?=[ ,])/.test(detail) ? detail.charAt(0).toUpperCase() : detail.charAt(0);
  return `${begin}${detail.slice(1)}. ${row.advice}`;
}
