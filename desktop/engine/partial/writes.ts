/** Writes under way: no two of them touch the same bytes. */

import { type ByteRange, intersect } from '@millrace/shared/base/byte-range';

interface Write {
  readonly range: ByteRange;
  readonly done: Promise<void>;
}

export class Writes {
  readonly #running = new Set<Write>();

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /**
   * Returns a promise for the end of a write that touches the range: of two copies written at the
   * same time, either could end up on disk.
   *
   * @returns undefined if no write touches it
   */
  touching(range: ByteRange): Promise<void> | undefined {
    for (const write of this.#running) if (intersect(write.range, range)) return write.done;
    return undefined;
  }

  /** Counts a write until it has ended. @throws as `write` */
  async run(range: ByteRange, write: Promise<void>): Promise<void> {
    const running = { range, done: write.catch(() => {}) };
    this.#running.add(running);
    try {
      await write;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when all writes under way have ended, successfully or not. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running].map(({ done }) => done));
  }
}
