/** Decides whether the user is asked before the app quits, and the question. */

import type { Words } from './words-en.ts';

export interface QuitState {
  /** Number of downloads that run. */
  readonly active: number;
  /** Number of downloads that would run sooner or later. */
  readonly waiting: number;
  /** True if the daemon ends with the app, which has started it. */
  readonly endsDaemon: boolean;
  /** True if the system shuts down, or a signal ends the app: there is no user to ask. */
  readonly forced: boolean;
}

export const QUIT_ANSWERS = ['background', 'quit', 'cancel'] as const;

export interface QuitQuestion {
  readonly message: string;
  readonly detail: string;
  /** In the order of `QUIT_ANSWERS`. */
  readonly buttons: readonly string[];
}

/** Returns the question; undefined if no running download would stop, so the app quits silently. */
export function quitQuestion(state: QuitState, words: Words): QuitQuestion | undefined {
  if (state.forced || !state.endsDaemon || state.active === 0) return undefined;
  return {
    message: words.quitMessage(state.active),
    detail: words.quitDetail(state.waiting),
    buttons: [words.quitInBackground, words.quitNow, words.cancel],
  };
}
