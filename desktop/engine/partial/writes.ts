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
   * A write that touches the range, as it ends: of two copies written at the same time, either
   * could end up on disk.
   *
   * @returns undefined: there is none
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

  /** Resolves when those under way have ended, successfully or not. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running].map(({ done }) => done));
  }
}
