/**
 * A download on its way from the browser to a taker: its state (`HandOff`), the events
 * (`HandOffEvent`) and the resulting orders (`Action`). All of them are plain JSON and hold no
 * secrets: the state is stored before each step, since the background may end at any line.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { OfferState, TakerKind, TakerProblem } from '../contract/taker.ts';

/**
 * The way goes from top to bottom; `restoring` is the way back.
 *
 * - pausing: the browser's is about to be paused, or is
 * - offering: a taker fetches the first bytes
 * - checking: proven; the browser's is looked at once more
 * - committing: the taker has been told to keep it
 * - asking: it is unknown whether it has: it is asked
 * - settling: it has; the browser's is looked at for the last time
 * - ending: the browser's is ended
 * - restoring: the taker gives it up, and the browser's continues
 * - doubtful: the taker could not be asked in time; the browser's continues meanwhile
 * - discarding: the browser's counts, or the user wants neither: the taker's is removed
 * - removing: the taker's was complete already: the browser's is removed, complete or not
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
  /** UUID. */
  readonly id: string;
  /** The browser's download: numbers are used again, in Firefox with every start. */
  readonly download: {
    readonly id: number;
    readonly begunAt: Millis;
    /** Absolute, where the browser will have the complete file; undefined: not known. */
    readonly path?: string | undefined;
  };
  /** True where an earlier version of the extension has paused the browser's: it must continue. */
  readonly pauses: boolean;
  /** Takers that may be asked; the first is being asked. */
  readonly takers: readonly TakerKind[];
  readonly phase: Phase;
  /** When the phase has taken too long, or is tried again. */
  readonly dueAt: Millis;
  /** When nothing is tried any more. */
  readonly endsAt: Millis;
  /** While it is asked whether it has committed: when the browser's continues without an answer. */
  readonly doubtAt?: Millis | undefined;
  /** The taker's name for it, once it has committed. */
  readonly takenAs?: string | undefined;
}

/** A download of the browser's. */
export interface BrowserDownload {
  readonly state: 'in_progress' | 'interrupted' | 'complete';
  readonly paused: boolean;
  /** The user has ended it. */
  readonly cancelled: boolean;
}

export type Discarded = 'removed' | 'complete';

export type HandOffEvent =
  /** How the browser's is: asked for, or because it has changed. Undefined: gone. */
  | { readonly type: 'seen'; readonly download: BrowserDownload | undefined }
  | { readonly type: 'changed'; readonly download: BrowserDownload | undefined }
  | { readonly type: 'proven' }
  | { readonly type: 'not-proven'; readonly problem: TakerProblem }
  | { readonly type: 'committed'; readonly takenAs: string }
  | { readonly type: 'not-committed'; readonly problem: TakerProblem }
  /** Undefined: it could not be asked. */
  | { readonly type: 'told'; readonly state: OfferState | undefined }
  | { readonly type: 'resumed'; readonly done: boolean }
  /** Fate of the taker's download: it stays where it is complete. Undefined: not known. */
  | { readonly type: 'discarded'; readonly outcome: Discarded | undefined }
  /** Time has passed. */
  | { readonly type: 'tick' }
  /** The step could not be stored: it must not be carried out. */
  | { readonly type: 'unsaved' }
  /** The background has restarted: nothing that was under way will be answered. */
  | { readonly type: 'restart' };

/** Carried out in their order, each after the one before. */
export type Action =
  /** Pauses the browser's, where it can be, and looks. */
  | 'pause'
  | 'look'
  | 'offer'
  | 'commit'
  | 'ask'
  | 'withdraw'
  /** The browser's continues, unless it already does. */
  | 'resume'
  /** Cancels the browser's and takes it out of its list, unless it is complete; then looks. */
  | 'end'
  | 'discard'
  /** As `end`, but also removes a complete file. */
  | 'remove';

/** `next` undefined: the hand-off is over. It is written down before the actions are done. */
export interface Step {
  readonly next: HandOff | undefined;
  readonly actions: readonly Action[];
}
