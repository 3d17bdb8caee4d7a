/** The beat to which prefetches ask for chunks: how clients do is looked at, and then who waits goes on. */

import type { Millis } from '@millrace/shared/base/clock';
import { PrefetchPace } from '@millrace/shared/cdn/prefetch-plan';

export interface PrefetchBeatOptions {
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** How clients do: transfers under way, and bytes sent to them since the start. */
  readonly clients: () => { readonly transfers: number; readonly bytes: number };
}

const TICK_MS = 50;

export class PrefetchBeat {
  /** Of all prefetches together. */
  readonly pace = new PrefetchPace();
  readonly #o: PrefetchBeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #waiting: (() => void)[] = [];

  constructor(options: PrefetchBeatOptions) {
    this.#o = options;
  }

  /** Transfers of clients under way. */
  get transfers(): number {
    return this.#o.clients().transfers;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Those who wait go on once more, and find out that it is over. */
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
    const { transfers, bytes } = this.#o.clients();
    this.pace.onClients(transfers, bytes, this.#o.now());
    this.#goOn();
  }

  #goOn(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
