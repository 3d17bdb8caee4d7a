/** Notices operations that make no progress any more. */

import { now } from '../account/ledger.ts';

/** Watches an operation, whose progress a figure shows. */
export class Progress {
  readonly #timer: NodeJS.Timeout;
  #figure = Number.NaN;
  #changedAt = now();
  hung = false;

  /**
   * Begins to watch.
   *
   * @param hangMs time without progress after which the operation hangs
   * @param onHang ends the operation
   */
  constructor(hangMs: number, onHang: () => void) {
    this.#timer = setInterval(
      () => {
        if (this.hung || now() - this.#changedAt < hangMs) return;
        this.hung = true;
        onHang();
      },
      Math.min(1000, hangMs / 4),
    );
  }

  /** Tells the figure, which is progress if it has changed. */
  tell(figure: number): void {
    if (Object.is(figure, this.#figure)) return;
    this.#figure = figure;
    this.#changedAt = now();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
