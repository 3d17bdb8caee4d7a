/** Errors as application/problem+json (RFC 9457), from the one table. */

import type { MillraceError } from '../base/errors.ts';

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
  const { status, title, advice, retryable } = error.row;
  return {
    type: `urn:millrace:error:${error.code}`,
    title,
    status,
    detail: error.detail === '' ? advice : `${upperFirst(error.detail)}. ${advice}`,
    code: error.code,
    reason: error.detail,
    retryable,
  };
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
