/** Room that a depot still has, for the list of edges by which clients find depots. */

import { statfs } from 'node:fs/promises';
import type { DepotRoom } from '@millrace/shared/cdn/depot/depot-room';
import type { Depot } from './depot.ts';

export interface FreeRoomOptions {
  readonly dir: string;
  readonly quotaBytes: number;
  readonly maxSeconds: number;
  readonly depot: Pick<Depot, 'usedBytes'>;
}

export class FreeRoom {
  readonly #options: FreeRoomOptions;
  /** Free bytes of the disk when it was last measured: reservations may exceed it. */
  #diskBytes = 0;

  constructor(options: FreeRoomOptions) {
    this.#options = options;
  }

  /** Measures the disk. Without an answer nothing counts as free. Never rejects. */
  async measure(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(this.#options.dir);
      this.#diskBytes = bavail * bsize;
    } catch {
      this.#diskBytes = 0;
    }
  }

  /** The least of what quota and disk leave. */
  get now(): DepotRoom {
    const { quotaBytes, maxSeconds, depot } = this.#options;
    const freeBytes = Math.max(0, Math.min(quotaBytes - depot.usedBytes, this.#diskBytes));
    return { freeBytes, maxSeconds };
  }
}
