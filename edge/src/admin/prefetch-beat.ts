/** The beat of prefetches: each tick measures clients' progress, then wakes waiting prefetches. */

import type { Millis } from '@millrace/shared/base/clock';
import { PrefetchPace } from '@millrace/shared/cdn/upkeep/prefetch-plan';

export interface PrefetchBeatOptions {
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Clients' progress: transfers under way, and bytes sent to them since the start. */
  readonly clients: () => { readonly transfers: number; readonly bytes: number };
}

const TICK_MS = 50;

export class PrefetchBeat {
  /** Pace of all prefetches together. */
  readonly pace = new PrefetchPace();
  readonly #options: PrefetchBeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #waiting: (() => void)[] = [];

  constructor(options: PrefetchBeatOptions) {
    this.#options = options;
  }

  /** Transfers of clients under way. */
  get transfers(): number {
    return this.#options.clients().transfers;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Wakes waiting prefetches a last time, so that they see that they have ended. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#goOn();
  }

  /** Resolves with the next beat. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #tick(): void {
    const { transfers, bytes } = this.#options.clients();
    this.pace.onClients(transfers, bytes, this.#options.now());
    this.#goOn();
  }

  #goOn(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
