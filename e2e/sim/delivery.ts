/**
 * A node's response to a client, in virtual time: carries out what the agent's state machine
 * (`Transfer`, with window and retry timer) orders, as the edge's delivery does with sockets.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { RetryTimer } from '@millrace/shared/cdn/retry-timer';
import { Transfer, type TransferAction } from '@millrace/shared/cdn/transfer';
import { CongestionWindow } from '@millrace/shared/cdn/window';
import { INGRESS, type SimNode } from './node.ts';
import { Flow, type Host } from './wire.ts';

export interface DeliveryOptions {
  readonly node: SimNode;
  /** Ends of the connection: the node and the client, or the machine that both are on. */
  readonly from: Host;
  readonly to: Host;
  /** One way, between node and client. */
  readonly delayMs: Millis;
  /** Chunks of the answer: the first, and how many. */
  readonly first: number;
  readonly count: number;
  readonly inOrder: boolean;
  /** Bytes of a chunk have reached the client. */
  readonly onBytes: (chunk: number, count: number) => void;
  /** The response is over, for the client. */
  readonly onEnd: (error: MillraceError | undefined) => void;
}

export class SimDelivery {
  readonly #o: DeliveryOptions;
  readonly #transfer: Transfer;
  readonly #window: CongestionWindow;
  readonly #attempts = new Map<string, AbortController>();
  readonly #flows = new Set<Flow>();
  readonly #breakOff = () => this.#settle(new MillraceError('origin-reset'));
  #timerAt = Number.POSITIVE_INFINITY;
  #settled = false;

  constructor(options: DeliveryOptions) {
    const { node, count, inOrder } = options;
    const { o, sim } = node.world;
    this.#o = options;
    this.#window = new CongestionWindow({ max: o.bufferBytes / o.chunkBytes });
    this.#transfer = new Transfer({
      slices: count,
      inOrder,
      window: this.#window,
      timer: new RetryTimer(),
      random: sim.random,
      progressAt: (slice) => node.flights.progressAt(this.#name(slice), 0),
    });
    node.transfers++;
    node.connections.add(this.#breakOff);
    this.#advance();
  }

  /** The client has had enough. */
  cancel(): void {
    this.#end();
  }

  #name(slice: number): string {
    return String(this.#o.first + slice);
  }

  #advance(): void {
    // A frozen node's clock stands still; a gone one's connections have been broken off.
    if (this.#o.node.state !== 'up') return;
    while (!this.#settled) {
      const actions = this.#transfer.step(this.#o.node.world.sim.now);
      if (actions.length === 0) break;
      for (const action of actions) this.#carryOut(action);
    }
    this.#schedule();
  }

  #carryOut(action: TransferAction): void {
    switch (action.kind) {
      case 'fetch':
        return this.#fetch(action.slice, action.attempt);
      case 'cancel':
        return this.#cancel(action.slice, action.attempt);
      case 'send':
        return this.#send(action.slice);
      case 'done':
        return this.#settle(undefined);
      case 'fail':
        return this.#settle(action.error);
    }
  }

  #fetch(slice: number, attempt: number): void {
    const { node, first } = this.#o;
    const { figures, sim } = node.world;
    if (attempt === 0) figures.chunkRequests++;
    if (node.cache.has(first + slice)) return this.#fetched(slice, attempt, true);
    if (attempt > 0) {
      figures.retries++;
      node.flights.hedge(this.#name(slice), 0);
    }
    const controller = new AbortController();
    const key = `${slice}.${attempt}`;
    this.#attempts.set(key, controller);
    node.get(first + slice, controller.signal, INGRESS).then(
      ({ tier }) => {
        if (!this.#attempts.delete(key)) return;
        this.#fetched(slice, attempt, tier === 'memory');
        this.#advance();
      },
      (error: unknown) => {
        if (!this.#attempts.delete(key)) return;
        this.#transfer.onFailed(slice, attempt, asMillraceError(error), sim.now);
        this.#advance();
      },
    );
  }

  #fetched(slice: number, attempt: number, local: boolean): void {
    const { figures, sim } = this.#o.node.world;
    figures.windowSum += this.#window.size;
    figures.windowSamples++;
    for (const action of this.#transfer.onFetched(slice, attempt, sim.now, local)) {
      this.#carryOut(action);
    }
  }

  #cancel(slice: number, attempt: number): void {
    const key = `${slice}.${attempt}`;
    const controller = this.#attempts.get(key);
    this.#attempts.delete(key);
    controller?.abort(new Error('no longer wanted'));
  }

  #send(slice: number): void {
    const { node, from, to, delayMs, first, onBytes } = this.#o;
    const { sim, o } = node.world;
    node.served++;
    const flow: Flow = new Flow(sim, {
      ...{ from, to, delayMs },
      bytes: o.chunkBytes,
      pieceBytes: o.pieceBytes,
      connected: () => node.state === 'up',
      onBytes: (count, left) => {
        if (this.#settled) return;
        onBytes(first + slice, count);
        if (left > 0 || this.#settled) return;
        this.#flows.delete(flow);
        this.#transfer.onSent(slice);
        this.#advance();
      },
    });
    this.#flows.add(flow);
  }

  #schedule(): void {
    const { clock } = this.#o.node.world.sim;
    const at = this.#transfer.nextDeadline();
    if (at === undefined || this.#settled || this.#timerAt <= at) return;
    this.#timerAt = at;
    clock.at(at, () => {
      if (this.#timerAt !== at) return;
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#advance();
    });
  }

  #settle(error: MillraceError | undefined): void {
    if (!this.#end()) return;
    const { node, delayMs, onEnd } = this.#o;
    if (error === undefined) return onEnd(undefined);
    node.world.sim.clock.in(delayMs, () => onEnd(error));
  }

  /** @returns false if it was over before */
  #end(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#o.node.transfers--;
    this.#o.node.connections.delete(this.#breakOff);
    for (const flow of this.#flows) flow.cancel();
    for (const controller of this.#attempts.values()) controller.abort(new Error('response ended'));
    this.#attempts.clear();
    return true;
  }
}
