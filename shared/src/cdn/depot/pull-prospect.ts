/**
 * Judges whether a depot could pull from a URL, by one HEAD request of the depot. A file that is still
 * being stored counts as one that can be pulled: its depot is reached, and answers for it.
 */

import type { Millis } from '../../base/clock.ts';
import { type ErrorCode, isPassing, type MillraceError } from '../../base/errors.ts';
import { statusError } from '../../http/answers/status-error.ts';
import { hideSecrets } from '../../http/urls/depot-link.ts';
import { MAX_PULL_MESSAGE_CHARS } from './pull-record.ts';

/** The answer of a depot to the question whether it may pull from a URL; its code is one of the table of errors. */
export type PullProspect =
  | { readonly state: 'open' }
  | {
      /** `refused`: by the depot's policy, or for good by the source. `unknown`: only a pull can tell. */
      readonly state: 'refused' | 'unreachable' | 'unknown';
      readonly code: string;
      readonly message: string;
    };

/** Failures of the way from the depot to the source. */
const AWAY: ReadonlySet<ErrorCode> = new Set([
  ...(['origin-unreachable', 'origin-refused', 'origin-unknown', 'origin-timeout'] as const),
]);

/** Judges an answer to HEAD. @param status final status, 200 to 599 */
export function prospectOfAnswer(status: number, retryAfterMs?: Millis): PullProspect {
  // A depot answers 409 until the upload is complete.
  if (status === 200 || status === 206 || status === 409) return { state: 'open' };
  return prospectOfError(statusError(status, retryAfterMs));
}

/** Judges a failure to get an answer. */
export function prospectOfError(error: MillraceError): PullProspect {
  const { code, row } = error;
  const words = code === 'internal' ? row.title : error.message;
  const message = hideSecrets(words).slice(0, MAX_PULL_MESSAGE_CHARS);
  const isOfOthers = row.scope === 'source' || row.scope === 'node';
  if (AWAY.has(code)) return { state: 'unreachable', code, message };
  return { state: isOfOthers && !isPassing(row) ? 'refused' : 'unknown', code, message };
}
