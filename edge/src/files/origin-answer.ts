/** An origin's own answer where it has no file for the client: an error page, or another status. */

import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { Freshness } from '@millrace/shared/http/answers/freshness';
import type { CacheOutcome } from '@millrace/shared/http/fields/cache-status';

export interface OriginAnswer {
  /** Error that the status stands for, for clients that want codes. */
  readonly code: ErrorCode;
  readonly detail: string;
  readonly retryAfterMs: number | undefined;
  readonly status: number;
  /** Fields that are passed on, names in lower case. */
  readonly fields: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly freshness: Freshness;
  /** URL that redirects led to. */
  readonly finalUrl: string;
}

/** An origin's word that it has no such file, without the answer that clients do not get. */
export type Absence = Pick<
  OriginAnswer,
  'code' | 'detail' | 'retryAfterMs' | 'fields' | 'freshness'
>;

export type KeptAnswer = OriginAnswer | Absence;

/** Returns true if the answer itself is there, which clients get. */
export function isWhole(answer: KeptAnswer): answer is OriginAnswer {
  return 'body' in answer;
}

/** The error of an origin that has no such file, where clients do not get its own answer. */
export class AbsentError extends MillraceError {
  readonly answer: Absence;

  constructor(answer: Absence) {
    const { code, detail, retryAfterMs } = answer;
    super(code, detail, { retryAfterMs });
    this.answer = answer;
  }
}

/** The error of an answer without a file, with the answer itself. */
export class AnsweredError extends MillraceError {
  readonly answer: OriginAnswer;
  readonly outcome: CacheOutcome;

  constructor(answer: OriginAnswer, outcome: CacheOutcome) {
    const { code, detail, retryAfterMs } = answer;
    super(code, detail, { retryAfterMs });
    this.answer = answer;
    this.outcome = outcome;
  }
}
