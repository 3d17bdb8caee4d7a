/** Notifies the user of ended downloads, by the rules of `logic/notices.ts`. */

import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import {
  afterQuiet,
  type EndedDownload,
  NO_NOTICES,
  type NoticesState,
  type NoticesStep,
  whenDoneNotice,
  withEnded,
} from './logic/notices.ts';
import type { Words } from './text/words.ts';

export interface AnnouncerOptions {
  /** Unix ms; downloads that ended before are not announced. */
  readonly since: number;
  readonly words: () => Words;
  /** Returns true while notices are wanted and the user is not looking at the list anyway. */
  readonly wanted: () => boolean;
  /** Returns true while the user is looking at the list, which shows countdowns itself. */
  readonly isLookedAt: () => boolean;
  /** Shows a notice. @param gid download that a click shows; undefined: the list */
  show(text: { title: string; body: string }, gid: string | undefined): void;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  #state: NoticesState = NO_NOTICES;
  #timer: NodeJS.Timeout | undefined;
  #whenDone: Totals['whenDone'];

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  changed(downloads: readonly EndedDownload[]): void {
    const { since, words } = this.#options;
    this.#take(withEnded(this.#state, downloads, since, Date.now(), words()));
  }

  /** Takes in what the machine does when all is done. Users are warned even if they want no other notices. */
  totals({ whenDone }: Totals): void {
    const { isLookedAt, show, words } = this.#options;
    const notice = whenDoneNotice(this.#whenDone, whenDone, words());
    this.#whenDone = whenDone;
    if (notice !== undefined && !isLookedAt()) show(notice, undefined);
  }

  #take({ state, notices, deadline }: NoticesStep): void {
    this.#state = state;
    for (const { title, body, gid } of notices) {
      if (this.#options.wanted()) this.#options.show({ title, body }, gid);
    }
    clearTimeout(this.#timer);
    if (deadline === undefined) return;
    this.#timer = setTimeout(
      () => this.#take(afterQuiet(this.#state, Date.now(), this.#options.words())),
      Math.max(0, deadline - Date.now()),
    );
  }
}
