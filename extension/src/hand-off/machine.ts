/**
 * Decides, as pure functions, how a download passes from the browser to a taker: a two-phase commit
 * with the taker as the only participant that can fail. The browser's download is cancelled only
 * after the taker has committed. If the browser finishes first, or the user acts, the taker's copy
 * is discarded.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { OfferState, TakerKind } from '../contract/taker.ts';
import type { Action, BrowserDownload, HandOff, HandOffEvent, Phase, Step } from './hand-off.ts';

/** Longest wait for a taker's proof, ms. */
export const PROOF_MS = 8000;
/** Longest wait for a taker's answer to the commit, ms. */
export const COMMIT_MS = 10_000;
/**
 * Time for which a lost taker is asked whether it committed, before the browser's download
 * continues, ms.
 */
export const DOUBT_MS = 20_000;
/** Delay between two tries, ms. */
export const RETRY_MS = 2000;
/** Longest time for which a hand-off is repaired, ms; takers remember their commits for as long. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Delay between two tries to repair a hand-off, ms. */
const LATER_MS = 30_000;

const OVER: Step = { next: undefined, actions: [] };

export interface Beginning {
  readonly id: string;
  readonly download: HandOff['download'];
  readonly pauses: boolean;
  /** Takers to ask, in order, one or more. */
  readonly takers: readonly TakerKind[];
}

export function begin(beginning: Beginning, now: Millis): Step {
  const dueAt = now + PROOF_MS;
  return {
    next: { ...beginning, phase: 'pausing', dueAt, endsAt: now + KEPT_MS },
    actions: ['pause'],
  };
}

export function step(handOff: HandOff, event: HandOffEvent, now: Millis): Step {
  if (event.type === 'tick') {
    if (now >= handOff.endsAt) return OVER;
    if (now < handOff.dueAt) return stay(handOff);
  }
  return PHASES[handOff.phase](handOff, event, now);
}

type Handler = (handOff: HandOff, event: HandOffEvent, now: Millis) => Step;

const PHASES: { readonly [P in Phase]: Handler } = {
  pausing: (handOff, event, now) => {
    if (event.type === 'tick') return restore(handOff, now);
    if (event.type === 'restart') return stay(handOff, 'look');
    if (event.type === 'unsaved') return OVER;
    if (event.type !== 'seen') return stay(handOff);
    if (event.download?.state !== 'in_progress') return OVER;
    if (!isAsLeft(handOff, event.download)) return restore(handOff, now);
    if (now >= handOff.dueAt) return restore(handOff, now);
    return to(handOff, 'offering', now + PROOF_MS, 'offer');
  },

  offering: (handOff, event, now) => {
    if (event.type === 'proven') return to(handOff, 'checking', handOff.dueAt, 'look');
    if (event.type === 'not-proven') {
      const takers = handOff.takers.slice(1);
      if (event.problem !== 'absent' || takers.length === 0) return restore(handOff, now);
      return to({ ...handOff, takers }, 'offering', now + PROOF_MS, 'offer');
    }
    if (event.type === 'changed') return leftAlone(handOff, event.download, now);
    // Repeating an offer is harmless.
    if (event.type === 'restart' && now < handOff.dueAt) return stay(handOff, 'offer');
    return isOver(event) ? restore(handOff, now) : stay(handOff);
  },

  checking: (handOff, event, now) => {
    if (event.type === 'restart' && now < handOff.dueAt) return stay(handOff, 'look');
    if (isOver(event)) return restore(handOff, now);
    if (event.type !== 'seen' && event.type !== 'changed') return stay(handOff);
    if (!isAsLeft(handOff, event.download)) return leftAlone(handOff, event.download, now);
    if (event.type === 'changed') return stay(handOff);
    return to(handOff, 'committing', now + COMMIT_MS, 'commit');
  },

  committing: (handOff, event, now) => {
    if (event.type === 'committed') return settle(handOff, event.takenAs, now);
    if (event.type === 'unsaved') return restore(handOff, now);
    // A taker that refuses, or was never reached, has not committed.
    if (event.type === 'not-committed' && event.problem !== 'lost') return restore(handOff, now);
    if (event.type === 'not-committed' || isOver(event)) {
      return to({ ...handOff, doubtAt: now + DOUBT_MS }, 'asking', now + RETRY_MS, 'ask');
    }
    return stay(handOff);
  },

  asking: (handOff, event, now) => {
    if (event.type === 'committed') return settle(handOff, event.takenAs, now);
    if (isOver(event)) {
      const doubtful = event.type === 'tick' && now >= (handOff.doubtAt ?? 0);
      if (doubtful) return to(handOff, 'doubtful', now + LATER_MS, 'resume');
      return to(handOff, 'asking', now + RETRY_MS, 'ask');
    }
    return event.type === 'told' ? conclude(handOff, event.state, now) : stay(handOff);
  },

  settling: (handOff, event, now) => {
    if (isOver(event)) return to(handOff, 'settling', now + RETRY_MS, 'look');
    if (event.type !== 'seen') return stay(handOff);
    if (!isAsLeft(handOff, event.download) && !isBroken(event.download)) {
      return discard(handOff, now);
    }
    return to(handOff, 'ending', now + RETRY_MS, 'end');
  },

  ending: (handOff, event, now) => {
    if (isOver(event)) return to(handOff, 'ending', now + RETRY_MS, 'end');
    if (event.type !== 'seen') return stay(handOff);
    if (event.download === undefined) return OVER;
    return event.download.state === 'complete' ? discard(handOff, now) : stay(handOff);
  },

  restoring: (handOff, event, now) => {
    if (isOver(event)) return restore(handOff, now);
    return event.type === 'resumed' && event.done ? OVER : stay(handOff);
  },

  doubtful: (handOff, event, now) => {
    if (event.type === 'restart') return to(handOff, 'doubtful', now + LATER_MS, 'resume', 'ask');
    if (event.type === 'tick') return to(handOff, 'doubtful', now + LATER_MS, 'ask');
    if (event.type === 'committed') return settle(handOff, event.takenAs, now);
    if (event.type !== 'told') return stay(handOff);
    return event.state?.state === 'unknown' ? OVER : conclude(handOff, event.state, now);
  },

  discarding: (handOff, event, now) => {
    if (isOver(event)) return to(handOff, 'discarding', now + LATER_MS, 'discard');
    if (event.type !== 'discarded' || event.outcome === undefined) return stay(handOff);
    if (event.outcome === 'removed') return OVER;
    return to(handOff, 'removing', now + RETRY_MS, 'remove');
  },

  removing: (handOff, event, now) => {
    if (isOver(event)) return to(handOff, 'removing', now + RETRY_MS, 'remove');
    return event.type === 'seen' && event.download === undefined ? OVER : stay(handOff);
  },
};

/**
 * Returns the file that must stay when the taker's download is removed: the browser's own. Both
 * downloads may have the same name in the same folder, and the file there is then the browser's
 * only copy.
 *
 * @param seen the browser's download as it is now; undefined: it is gone, and it is not known
 * whether it was complete before
 * @returns absolute path; undefined if the file is not wanted because the user ended the browser's
 * download, or if its path is not known
 */
export function keptFile(
  { download }: Pick<HandOff, 'download'>,
  seen: BrowserDownload | undefined,
): string | undefined {
  return seen?.cancelled === true ? undefined : download.path;
}

/** Returns the step after the answer of a taker that may have committed. */
function conclude(handOff: HandOff, state: OfferState | undefined, now: Millis): Step {
  // The taker is asked again later.
  if (state === undefined) return stay(handOff);
  if (state.state === 'committed') return settle(handOff, state.id, now);
  // An unknown offer cannot be committed any more. Otherwise the commit may still be on its way:
  // withdraw the offer, and ask again.
  return state.state === 'unknown' ? restore(handOff, now) : stay(handOff, 'withdraw');
}

/** Returns whether time is up, or all work under way is lost. */
function isOver({ type }: HandOffEvent): boolean {
  return type === 'tick' || type === 'restart';
}

/** Returns whether the browser's download is as the hand-off left it, without changes by others. */
function isAsLeft({ pauses }: HandOff, download: BrowserDownload | undefined): boolean {
  return download?.state === 'in_progress' && download.paused === pauses;
}

/** Returns whether the browser's download was interrupted, but not by the user. */
function isBroken(download: BrowserDownload | undefined): boolean {
  return download?.state === 'interrupted' && !download.cancelled;
}

/**
 * Returns the step after a change of the browser's download by others: if it is complete, or the
 * user has ended or resumed it, it stays with the user.
 */
function leftAlone(handOff: HandOff, download: BrowserDownload | undefined, now: Millis): Step {
  if (isAsLeft(handOff, download) || isBroken(download)) return stay(handOff);
  // The state may be from before the pause: the download must not stay paused.
  if (download?.state === 'in_progress') return restore(handOff, now);
  return { next: undefined, actions: ['withdraw'] };
}

function settle(handOff: HandOff, takenAs: string, now: Millis): Step {
  return to({ ...handOff, takenAs }, 'settling', now + RETRY_MS, 'look');
}

function discard(handOff: HandOff, now: Millis): Step {
  return to(handOff, 'discarding', now + LATER_MS, 'discard');
}

function restore(handOff: HandOff, now: Millis): Step {
  return to(handOff, 'restoring', now + RETRY_MS, 'resume', 'withdraw');
}

function to(handOff: HandOff, phase: Phase, dueAt: Millis, ...actions: Action[]): Step {
  return { next: { ...handOff, phase, dueAt }, actions };
}

function stay(handOff: HandOff, ...actions: Action[]): Step {
  return { next: handOff, actions };
}
