/**
 * Parts of a file that earlier runs of its upload have begun to store, by what these have written down,
 * and parts that a depot was too slow for.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Placed } from '@millrace/shared/exnode/spread/placement';
import type { PlannedExtent } from '@millrace/shared/exnode/spread/spread';
import type { FileState } from '../../archive/upload-source.ts';
import { release } from '../depot-client.ts';
import { UploadJournal } from '../upload-journal.ts';

/** Longest wait for a slow depot to release what it has of a part: else that ends with its lease. */
const RELEASE_MS: Millis = 5000;

export interface EarlierPartsOptions {
  readonly path: string;
  /** Folder for the state of programs. */
  readonly state: string;
  readonly file: FileState;
  /** Names the key that the parts are encrypted with; undefined: they are not. */
  readonly keyId: string | undefined;
  readonly depots: readonly { readonly edge: string }[];
  readonly signal: AbortSignal;
}

export class EarlierParts {
  readonly #options: EarlierPartsOptions;

  constructor(options: EarlierPartsOptions) {
    this.#options = options;
  }

  /**
   * Finds the depots that have some of an extent. What more of them have than the extent needs is
   * released.
   */
  async find(plan: readonly PlannedExtent[]): Promise<Map<PlannedExtent, number[]>> {
    const { depots, file } = this.#options;
    const found = new Map<PlannedExtent, number[]>();
    for (const extent of plan) {
      const theirs: number[] = [];
      for (const depot of depots.keys()) {
        const journal = this.#journal({ extent, depot });
        const earlier = await journal.read(file);
        // Nobody may upload this extent there again.
        if (earlier === undefined) await journal.removeLeftLock();
        if (earlier?.isSame !== true) continue;
        if (theirs.length < extent.depots.length) theirs.push(depot);
        else await this.leave({ extent, depot });
      }
      if (theirs.length > 0) found.set(extent, theirs);
    }
    return found;
  }

  /** Gives up what a depot has of an extent. Never rejects: a dead depot keeps it until its lease ends. */
  async leave(part: Placed): Promise<void> {
    const { file, signal } = this.#options;
    const journal = this.#journal(part);
    try {
      const unlock = await journal.lock();
      try {
        const earlier = await journal.read(file);
        await journal.remove();
        if (earlier === undefined) return;
        const both = AbortSignal.any([signal, AbortSignal.timeout(RELEASE_MS)]);
        await release(earlier.allocated.manage, both);
      } finally {
        await unlock();
      }
    } catch {
      // Nothing depends on it.
    }
  }

  #journal({ extent, depot }: Placed): UploadJournal {
    const { path, state, keyId, depots } = this.#options;
    const { start, end } = extent;
    return new UploadJournal(state, path, depots[depot]?.edge ?? '', { start, end }, keyId);
  }
}
