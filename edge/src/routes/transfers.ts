/** The requests of clients that are under way: counted, drained, sent elsewhere, cut off. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { chooseOffload } from '@millrace/shared/cdn/offload';
import type { Metrics } from '../metrics.ts';
import type { Admission } from '../policy/client-limits.ts';

/** One request under way. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The client's address. */
  readonly client: string | undefined;
  readonly controller: AbortController;
  readonly admission: Admission;
  readonly startedAt: Millis;
  kind: 'file' | 'tunnel' | 'error';
  url: URL | undefined;
  /** Body bytes sent, and how many there will be. */
  sentBytes: number;
  bodyBytes: number;
  /** The client has said that it goes on elsewhere after a reset. */
  readonly aware: boolean;
}

export class Transfers {
  readonly #metrics: Metrics;
  readonly #running = new Set<Exchange>();
  #draining = false;
  readonly #onDrain: (() => void)[] = [];
  #idle: (() => void)[] = [];

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  add(exchange: Exchange): void {
    this.#running.add(exchange);
  }

  /** It is over. */
  delete(exchange: Exchange): void {
    this.#running.delete(exchange);
    if (this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Transfers under way. */
  get running(): number {
    return this.#running.size;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Takes no more requests, or takes them again; those under way go on. */
  drain(draining = true): void {
    this.#draining = draining;
    if (draining) for (const act of this.#onDrain) act();
  }

  /** Has something done whenever draining begins. */
  onDrain(act: () => void): void {
    this.#onDrain.push(act);
  }

  /**
   * Resets transfers that can go on elsewhere: all of clients that have said they do so, or the
   * longest above a limit.
   *
   * @param limit transfers to be left with; undefined: those of aware clients go, others stay
   */
  offload(limit?: number): void {
    const running = [...this.#running]
      .filter(({ kind, controller }) => kind !== 'error' && !controller.signal.aborted)
      .map((exchange) => ({
        exchange,
        aware: exchange.aware,
        remainingBytes: exchange.bodyBytes - exchange.sentBytes,
      }));
    const chosen =
      limit === undefined ? running.filter(({ aware }) => aware) : chooseOffload(running, limit);
    for (const { exchange } of chosen) {
      this.#metrics.offloads.inc();
      exchange.controller.abort(new MillraceError('draining', 'go on elsewhere'));
    }
  }

  /** Resolves when no transfer is under way. */
  async idle(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Cuts off what is under way. */
  resetAll(): void {
    for (const { controller } of this.#running) controller.abort(new MillraceError('draining'));
  }
}
