/** The user wants the next download left alone: said in the popup, or with a key held on a link. */

import type { Millis } from '@millrace/shared/base/clock';
import type { BrowserApi } from '../browser/api.ts';

const KEY = 'skip-next';
/** Longest time between a click with the key held and the download it applies to. */
const CLICK_MS = 10_000;

export class Skipping {
  readonly #session: BrowserApi['storage']['session'];
  readonly ready: Promise<void>;
  #next = false;
  #clickedAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(session: BrowserApi['storage']['session']) {
    this.#session = session;
    this.ready = session.get(KEY).then(
      (stored) => {
        this.#next = stored[KEY] === true;
      },
      () => {},
    );
  }

  get next(): boolean {
    return this.#next;
  }

  async setNext(skip: boolean): Promise<void> {
    await this.ready;
    this.#next = skip;
    await this.#session.set({ [KEY]: skip });
  }

  clicked(now: Millis): void {
    this.#clickedAt = now;
  }

  /** Whether the download that begins now is left alone; the next one is not. */
  take(now: Millis): boolean {
    const clicked = now - this.#clickedAt <= CLICK_MS;
    this.#clickedAt = Number.NEGATIVE_INFINITY;
    if (!this.#next) return clicked;
    void this.setNext(false);
    return true;
  }
}
