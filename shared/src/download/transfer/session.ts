/**
 * One attempt of a download as its requests see it: its clock, its patience, and the listeners for
 * bytes, failures and waiting. Everything that asks sources on behalf of a download gets this.
 */

import type { Millis } from '../../base/clock.ts';
import type { MillraceError } from '../../base/errors.ts';
import type { PatienceOptions } from './patience.ts';

export interface Session<S> extends PatienceOptions {
  /** Ends whatever goes on. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Resolves after `ms`, or when the signal is aborted. */
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
  /**
   * Counts bytes as they come in.
   *
   * @param signal of the request that brought them: its end ends the wait, too
   * @returns promise to wait for before more is read (rate limit); undefined: none
   */
  readonly onBytes: (source: S, count: number, signal: AbortSignal) => Promise<void> | undefined;
  /** Told of a source that has failed; its health says whether it is used any more. */
  readonly onSourceFailed?: (source: S, error: MillraceError) => void;
  /** Told when no source can be reached, and again when one is asked. */
  readonly onWaiting?: (waiting: boolean) => void;
  /** Resolves when the network has changed (true), or at the deadline or with the signal (false). */
  readonly networkChange?: (deadlineMs: Millis, signal: AbortSignal) => Promise<boolean>;
}
