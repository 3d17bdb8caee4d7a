/**
 * One attempt of a download: its clock, its patience, and the listeners for bytes, failures and
 * waiting. Every class that sends requests for a download gets this.
 */

import type { Millis } from '../../base/clock.ts';
import type { MillraceError } from '../../base/errors.ts';
import type { PatienceOptions } from './patience.ts';

export interface Session<S> extends PatienceOptions {
  /** Ends the attempt when it aborts. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds; may stand still while the process does. */
  readonly now: () => Millis;
  /** Resolves after `ms`, or when the signal is aborted. */
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
  /**
   * Counts bytes as they come in.
   *
   * @param signal of the request that brought the bytes: it also ends the wait
   * @returns a promise to wait for before more is read (rate limit); undefined: no wait
   */
  readonly onBytes: (source: S, count: number, signal: AbortSignal) => Promise<void> | undefined;
  /** Told of a source that has failed; its health says whether the source is still used. */
  readonly onSourceFailed?: (source: S, error: MillraceError) => void;
  /** Told true when no source can be reached, and false when one is asked again. */
  readonly onWaiting?: (waiting: boolean) => void;
  /** Resolves with true when the network has changed, with false after `ms` or on abort. */
  readonly networkChange?: (ms: Millis, signal: AbortSignal) => Promise<boolean>;
}
