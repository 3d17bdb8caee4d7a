/** Adds up the progress of several uploads. */

import type { UploadObserver } from '../upload.ts';

export class CommonProgress {
  readonly #observe: UploadObserver;
  readonly #bytes: number;
  readonly #ends: number[] = [];
  #hasBegun = false;

  constructor(observe: UploadObserver, bytes: number) {
    this.#observe = observe;
    this.#bytes = bytes;
  }

  /** Adds an upload. @returns its observer, and a function that takes its bytes off again */
  add(): { readonly observer: UploadObserver; readonly forget: () => void } {
    const index = this.#ends.push(0) - 1;
    const at = (end: number) => {
      this.#ends[index] = end;
      // An extent may be on its way to a slow depot and to the one that takes it over.
      return Math.min(
        this.#bytes,
        this.#ends.reduce((sum, one) => sum + one, 0),
      );
    };
    const observer: UploadObserver = {
      begun: (_bytes, stored) => {
        const end = at(stored);
        if (!this.#hasBegun) this.#observe.begun(this.#bytes, end);
        else this.#observe.sent(end);
        this.#hasBegun = true;
      },
      sent: (end) => this.#observe.sent(at(end)),
      retried: (error, pauseMs) => this.#observe.retried(error, pauseMs),
      anew: () => this.#observe.anew(),
    };
    return { observer, forget: () => this.#observe.sent(at(0)) };
  }
}
