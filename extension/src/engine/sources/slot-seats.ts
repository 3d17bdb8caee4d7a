/** Gives one download its connections among those of all downloads of the engine. */

import type { HostDemand, Seats } from '@millrace/shared/download/transfer/source-pool';
import { type HostSlots, MAX_PER_HOST, type SlotHolder } from './host-slots.ts';

/** Missing bytes that justify one connection. */
const WORTH_BYTES = 256 * 1024;

export interface SlotSeatsOptions {
  readonly slots: HostSlots;
  /** The download that has the connections. */
  readonly holder: SlotHolder;
  /** Most requests at a time, to all hosts. */
  readonly connections: number;
  /** Bytes that are not stored yet. */
  readonly missingBytes: () => number;
}

export class SlotSeats implements Seats {
  readonly perSource = MAX_PER_HOST;
  readonly #options: SlotSeatsOptions;

  constructor(options: SlotSeatsOptions) {
    this.#options = options;
  }

  room(host: string): number {
    const { slots, holder } = this.#options;
    return slots.room(holder, host);
  }

  take(host: string): boolean {
    const { slots, holder } = this.#options;
    return slots.take(holder, host);
  }

  release(host: string): void {
    const { slots, holder } = this.#options;
    slots.release(holder, host);
  }

  isCrowdedOut(host: string): boolean {
    const { slots, holder } = this.#options;
    return slots.isCrowdedOut(holder, host);
  }

  claim(demands: readonly HostDemand[]): void {
    const { slots, holder, connections, missingBytes } = this.#options;
    const worth = Math.max(1, Math.ceil(missingBytes() / WORTH_BYTES));
    const all = demands.reduce((sum, { active }) => sum + active, 0);
    for (const { host, active, wanted } of demands) {
      const free = connections - (all - active);
      slots.claim(holder, host, Math.max(active, Math.min(wanted, worth, free)));
    }
  }

  /** Releases all connections, as the download has ended. */
  leave(): void {
    const { slots, holder } = this.#options;
    slots.leave(holder);
  }
}
