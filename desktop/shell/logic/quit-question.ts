/** Decides whether the user is asked before the app quits, and the question. */

import type { Words } from './words-en.ts';

export interface QuitState {
  /** Downloads that run. */
  readonly active: number;
  /** Downloads that would run sooner or later. */
  readonly waiting: number;
  /** The daemon ends with the app: it was started by it. */
  readonly endsDaemon: boolean;
  /** The system shuts down, or an update is being installed: there is no user to ask. */
  readonly forced: boolean;
}

export const QUIT_ANSWERS = ['background', 'quit', 'cancel'] as const;

export interface QuitQuestion {
  readonly message: string;
  readonly detail: string;
  /** In the order of `QUIT_ANSWERS`. */
  readonly buttons: readonly string[];
}

/** @returns undefined: quit without a word, as nothing stops that runs */
export function quitQuestion(state: QuitState, words: Words): QuitQuestion | undefined {
  if (state.forced || !state.endsDaemon || state.active === 0) return undefined;
  return {
    message: words.quitMessage(state.active),
    detail: words.quitDetail(state.waiting),
    buttons: [words.quitInBackground, words.quitNow, words.cancel],
  };
}
