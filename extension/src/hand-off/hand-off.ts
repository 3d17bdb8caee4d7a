/**
 * A download on its way from the browser to a taker: its state (`HandOff`), the events
 * (`HandOffEvent`) and the resulting orders (`Action`). All of them are plain JSON without secrets:
 * the state is stored before each step, because the background may end at any time.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { OfferState, TakerKind, TakerProblem } from '../contract/taker.ts';

/**
 * Phases of a hand-off, in order; `restoring` leads back.
 *
 * - pausing: the browser's download is about to be looked at, after a pause if `pauses` is set
 * - offering: a taker fetches the first bytes
 * - checking: the taker has proven the file; the browser's download is looked at once more
 * - committing: the taker has been told to keep the download
 * - asking: it is not known whether the taker committed, so the taker is asked
 * - settling: the taker has committed; the browser's download is looked at for the last time
 * - ending: the browser's download is ended
 * - restoring: the taker gives up the download, and the browser's continues
 * - doubtful: the taker could not be asked in time; the browser's download continues meanwhile
 * - discarding: the browser's download counts, or the user wants neither: the taker's is removed
 * - removing: the taker's download was complete already: the browser's is removed, complete or not
 */
export type Phase =
  | 'pausing'
  | 'offering'
  | 'checking'
  | 'committing'
  | 'asking'
  | 'settling'
  | 'ending'
  | 'restoring'
  | 'doubtful'
  | 'discarding'
  | 'removing';

export interface HandOff {
  /** UUID of the hand-off. */
  readonly id: string;
  /**
   * The browser's download. Its id alone is not enough: ids are reused, in Firefox at every start.
   */
  readonly download: {
    readonly id: number;
    readonly begunAt: Millis;
    /** Absolute path that the complete file will have; undefined if not known. */
    readonly path?: string | undefined;
  };
  /**
   * True if an earlier version of the extension paused the browser's download, which must be
   * resumed.
   */
  readonly pauses: boolean;
  /** Takers that may be asked; the first is being asked. */
  readonly takers: readonly TakerKind[];
  readonly phase: Phase;
  /** Time at which the phase has taken too long, or is tried again. */
  readonly dueAt: Millis;
  /** Time after which nothing is tried any more. */
  readonly endsAt: Millis;
  /**
   * While the taker is asked whether it committed: time at which the browser's download continues
   * without an answer.
   */
  readonly doubtAt?: Millis | undefined;
  /** The taker's id of the download, once it has committed. */
  readonly takenAs?: string | undefined;
}

/** State of a download of the browser. */
export interface BrowserDownload {
  readonly state: 'in_progress' | 'interrupted' | 'complete';
  readonly paused: boolean;
  /** Whether the user has ended the download. */
  readonly cancelled: boolean;
}

export type Discarded = 'removed' | 'complete';

export type HandOffEvent =
  /**
   * State of the browser's download, on request (`seen`) or after a change (`changed`); undefined:
   * the download is gone.
   */
  | { readonly type: 'seen'; readonly download: BrowserDownload | undefined }
  | { readonly type: 'changed'; readonly download: BrowserDownload | undefined }
  | { readonly type: 'proven' }
  | { readonly type: 'not-proven'; readonly problem: TakerProblem }
  | { readonly type: 'committed'; readonly takenAs: string }
  | { readonly type: 'not-committed'; readonly problem: TakerProblem }
  /** State of the offer; undefined: the taker could not be asked. */
  | { readonly type: 'told'; readonly state: OfferState | undefined }
  | { readonly type: 'resumed'; readonly done: boolean }
  /** Outcome of a discard: a complete download stays. Undefined: not known. */
  | { readonly type: 'discarded'; readonly outcome: Discarded | undefined }
  /** Time has passed. */
  | { readonly type: 'tick' }
  /** The step could not be stored, so it must not be carried out. */
  | { readonly type: 'unsaved' }
  /** The background has restarted: no answer will come to earlier orders. */
  | { readonly type: 'restart' };

/** Orders, carried out in sequence. */
export type Action =
  /** Pauses the browser's download if `pauses` is set, then looks at it. */
  | 'pause'
  | 'look'
  | 'offer'
  | 'commit'
  | 'ask'
  | 'withdraw'
  /** Resumes the browser's download, unless it already runs. */
  | 'resume'
  /**
   * Cancels the browser's download and removes it from the list, unless it is complete; then looks.
   */
  | 'end'
  | 'discard'
  /** Like `end`, but also removes a complete file. */
  | 'remove';

/**
 * Result of an event. `next` undefined: the hand-off is over. `next` is stored before the actions
 * are carried out.
 */
export interface Step {
  readonly next: HandOff | undefined;
  readonly actions: readonly Action[];
}
