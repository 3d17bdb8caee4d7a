/** Parts that depots have been given, and which others store in the end: these are released. */

import type { Placed } from '@millrace/shared/exnode/spread/placement';
import type { PlannedExtent } from '@millrace/shared/exnode/spread/spread';
import type { EarlierParts } from './earlier-parts.ts';

export class LeftParts {
  readonly #parts: EarlierParts;
  readonly #begun = new Map<string, Placed>();
  /** Releases under way: a depot may be given the same extent again. */
  readonly #leaving = new Map<string, Promise<void>>();

  /** @param begun depots at which earlier runs have begun extents */
  constructor(parts: EarlierParts, begun: ReadonlyMap<PlannedExtent, readonly number[]>) {
    this.#parts = parts;
    for (const [extent, depots] of begun) {
      for (const depot of depots) this.#begun.set(keyOf({ extent, depot }), { extent, depot });
    }
  }

  /** Notes that a part is begun. Resolves once what the depot had of it before is released. */
  async begin(part: Placed): Promise<void> {
    this.#begun.set(keyOf(part), part);
    await this.#leaving.get(keyOf(part));
  }

  /** Releases a part in the background. */
  leave(part: Placed): void {
    const before = this.#leaving.get(keyOf(part)) ?? Promise.resolve();
    const released = before.then(() => this.#parts.leave(part));
    this.#leaving.set(keyOf(part), released);
  }

  /**
   * Releases all parts that were begun and are of no use, such as those that have moved before this run
   * has sent anything of them.
   */
  async settle(used: readonly Placed[], isLost: (depot: number) => boolean): Promise<void> {
    const stays = new Set(used.map(keyOf));
    for (const [key, part] of this.#begun) {
      if (!stays.has(key) && !isLost(part.depot)) this.leave(part);
    }
    await Promise.all(this.#leaving.values());
  }
}

function keyOf({ extent, depot }: Placed): string {
  return `${extent.start} ${depot}`;
}
