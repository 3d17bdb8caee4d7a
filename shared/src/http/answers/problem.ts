/** Errors as application/problem+json (RFC 9457), from the one table. */

import type { MillraceError } from '../../base/errors.ts';

/** The body of a problem document. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Our own members: the table's code, what is particular to this occurrence, and whether to retry. */
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

/** What happened in this case, where more is known than the title says, and what to do about it. */
export function whyAndWhat({ detail, row }: MillraceError): string {
  if (detail === '') return row.advice;
  // Words begin with a capital letter; hosts, types and URLs are what they are.
  const begin = /^[a-z]+(?=[ ,])/.test(detail) ? detail.charAt(0).toUpperCase() : detail.charAt(0);
  return `${begin}${detail.slice(1)}. ${row.advice}`;
}
