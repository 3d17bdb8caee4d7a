/** Record of a pull, which the head of its allocation keeps, and the form in which owners see it. */

import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { hideSecrets } from '../../http/urls/depot-link.ts';
import type { SeenVersion } from './seen-versions.ts';

/** A pull that is under way, or the failure of the last one. Times are Unix milliseconds. */
export interface PullRecord {
  readonly startedAt: Millis;
  readonly failure?: PullFailure | undefined;
  /** Versions of the stored bytes, for the pull that goes on where this one ends. */
  readonly seen?: readonly SeenVersion[] | undefined;
}

interface PullFailure {
  /** Code of the table of errors. */
  readonly code: string;
  readonly message: string;
  readonly at: Millis;
}

/** A pull as the state of an allocation shows it. Times are ISO 8601. */
export type PullView =
  | { readonly state: 'running'; readonly time: string }
  | {
      readonly state: 'failed';
      readonly code: string;
      readonly message: string;
      readonly time: string;
    };

/** Longest message that is kept, characters. */
export const MAX_PULL_MESSAGE_CHARS = 500;

/** Returns the record of a pull that has failed. @param now Unix milliseconds */
export function failedPull(record: PullRecord, error: MillraceError, now: Millis): PullRecord {
  // Particulars of internal errors are for the log alone.
  const words = error.code === 'internal' ? error.row.title : error.message;
  const message = hideSecrets(words).slice(0, MAX_PULL_MESSAGE_CHARS);
  return { ...record, failure: { code: error.code, message, at: now } };
}

/**
 * Returns the record that a restart leaves: a pull that was under way has ended with the former run.
 *
 * @param now Unix milliseconds
 */
export function pullAfterRestart(record: PullRecord, now: Millis): PullRecord {
  if (record.failure !== undefined) return record;
  return failedPull(record, new MillraceError('interrupted', 'the edge has restarted'), now);
}

/** Returns a pull as its owner sees it. */
export function pullView({ startedAt, failure }: PullRecord): PullView {
  if (failure === undefined) return { state: 'running', time: new Date(startedAt).toISOString() };
  const { code, message, at } = failure;
  return { state: 'failed', code, message, time: new Date(at).toISOString() };
}
