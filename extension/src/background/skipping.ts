/**
 * Remembers that the user wants the next download left alone: by a switch in the popup, or by a key
 * held during a click.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { BrowserApi } from '../browser/api.ts';

const KEY = 'skip-next';
/** Longest time between a click with the key held and the download it applies to, ms. */
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

  /** Returns whether to leave the download that begins now alone, and resets the wish. */
  take(now: Millis): boolean {
    const clicked = now - this.#clickedAt <= CLICK_MS;
    this.#clickedAt = Number.NEGATIVE_INFINITY;
    if (!this.#next) return clicked;
    void this.setNext(false);
    return true;
  }
}
