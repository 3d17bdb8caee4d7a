/** Discards bytes that have lost their source's credit, so that they are fetched again. */

import type { RangeSet } from '../../base/byte-range.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { TransferStore } from './transfer-ports.ts';
import type { TransferSource } from './transfer-source.ts';

export class Distrust {
  readonly #store: TransferStore;
  readonly #scheduler: Scheduler;
  readonly #onError: (error: unknown) => void;

  /** @param onError told of an error of the disk, which ends the transfer */
  constructor(
    { store, scheduler }: { readonly store: TransferStore; readonly scheduler: Scheduler },
    onError: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#scheduler = scheduler;
    this.#onError = onError;
  }

  /**
   * Discards the bytes that a quarantined source has given since it was last shown to keep the
   * contract or, if its file has changed, since it was last shown to have the old one.
   *
   * @param isAsked true while requests to it are under way: their later writes would count again
   */
  async source(source: TransferSource, isAsked: boolean): Promise<void> {
    const reason = source.health.quarantine;
    if (reason === undefined || isAsked) return;
    if (reason.row.bytes === 'dropped') await this.discard(source.takeUnproven());
    if (reason.row.file === 'other version') await this.discard(source.takeOverwritten());
  }

  /** Discards ranges in the store first, because it would not rewrite bytes that it still has. */
  async discard({ ranges }: RangeSet): Promise<void> {
    if (ranges.length === 0) return;
    const taken = [...ranges];
    try {
      await this.#store.forget(taken);
    } catch (error) {
      return this.#onError(error);
    }
    for (const range of taken) this.#scheduler.discard(range);
  }
}
