/** An exNode that changes while depots are asked, and is written down with each change. */

import type { Exnode } from '@millrace/shared/exnode/exnode';

export class KeptExnode {
  readonly #write: (exnode: Exnode) => Promise<void>;
  #exnode: Exnode;
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** @param write makes an exNode durable in the place of the earlier one */
  constructor(exnode: Exnode, write: (exnode: Exnode) => Promise<void>) {
    this.#exnode = exnode;
    this.#write = write;
  }

  get exnode(): Exnode {
    return this.#exnode;
  }

  /**
   * Changes the exNode. Changes that come during a write are written together by the next one.
   *
   * @returns a promise that resolves when the change is durable
   * @throws errors of the write
   */
  change(change: (exnode: Exnode) => Exnode): Promise<void> {
    this.#exnode = change(this.#exnode);
    this.#next ??= this.#run();
    return this.#next;
  }

  async #run(): Promise<void> {
    await this.#last.catch(() => {});
    this.#next = undefined;
    this.#last = this.#write(this.#exnode);
    await this.#last;
  }
}
