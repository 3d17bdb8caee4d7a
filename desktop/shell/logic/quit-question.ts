/** Decides whether the user is asked before the app quits, and the question. */

import type { Words } from '../text/words.ts';

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
  const text = words.t('quit.text');
  return {
    message: words.n('quit.ask', state.active),
    detail: state.waiting > 0 ? `${text} ${words.n('quit.waiting', state.waiting)}` : text,
    buttons: [words.t('quit.inBackground'), words.t('quit.now'), words.t('cancel')],
  };
}
