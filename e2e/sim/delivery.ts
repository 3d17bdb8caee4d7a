/**
 * A node's response to a client in virtual time: the agent (`DeliveryMachine` with window and retry
 * timer) as in an edge's delivery, with models of stores and sockets.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { DeliveryDriver } from '@millrace/shared/cdn/delivery/delivery-driver';
import { RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import { CongestionWindow, firstWindow } from '@millrace/shared/cdn/delivery/window';
import { INGRESS, type SimNode } from './node.ts';
import { Flow, type Host } from './wire.ts';

export interface DeliveryOptions {
  readonly node: SimNode;
  /** Ends of the connection: the node and the client, or the machine that both are on. */
  readonly from: Host;
  readonly to: Host;
  /** One-way delay between node and client. */
  readonly delayMs: Millis;
  /** Chunks of the answer: the first chunk, and the number of chunks. */
  readonly first: number;
  readonly count: number;
  readonly inOrder: boolean;
  /** Called when bytes of a chunk have reached the client. */
  readonly onBytes: (chunk: number, count: number) => void;
  /** Called when the response is over for the client. */
  readonly onEnd: (error: MillraceError | undefined) => void;
}

export class SimDelivery {
  readonly #options: DeliveryOptions;
  readonly #driver: DeliveryDriver;
  readonly #window: CongestionWindow;
  readonly #flows = new Set<Flow>();
  /** Slices that wait for the connection, which carries one after the other. */
  readonly #queue: number[] = [];
  #isSending = false;
  /** Slices requested and not yet taken by the client. */
  #held = 0;
  readonly #breakOff = () => this.#end(new MillraceError('origin-reset'));

  constructor(options: DeliveryOptions) {
    const { node, count, inOrder } = options;
    const { o, sim } = node.world;
    this.#options = options;
    this.#window = new CongestionWindow({
      max: o.bufferBytes / o.chunkBytes,
      initial: firstWindow(o.chunkBytes),
    });
    this.#driver = new DeliveryDriver(
      {
        slices: count,
        inOrder,
        window: this.#window,
        timer: new RetryTimer(),
        random: sim.random,
        progressAt: (slice) => node.flights.progressAt(this.#name(slice), INGRESS),
      },
      {
        now: () => sim.now,
        at: (time, run) => {
          // A frozen node's clock stands still. The connections of a gone node are broken already.
          sim.clock.at(time, () => {
            if (node.state === 'up') run();
          });
          return () => {};
        },
        fetch: (slice, attempt) => this.#fetch(slice, attempt),
        send: (slice) => this.#send(slice),
        ended: (error) => this.#ended(error),
      },
    );
    node.transfers++;
    node.connections.add(this.#breakOff);
    if (node.state === 'up') this.#driver.advance();
  }

  /** Ends the response at the client's wish. */
  cancel(): void {
    if (this.#driver.end()) this.#forget();
  }

  #name(slice: number): string {
    return String(this.#options.first + slice);
  }

  #fetch(slice: number, attempt: number): () => void {
    const { node, first } = this.#options;
    const { figures } = node.world;
    if (attempt === 0) {
      figures.chunkRequests++;
      figures.held.push(++this.#held);
    }
    if (node.cache.has(first + slice)) {
      this.#fetched(slice, attempt, true);
      return () => {};
    }
    if (attempt > 0) {
      figures.retries++;
      if (attempt === 1) figures.retriedChunks++;
      node.flights.hedge(this.#name(slice), INGRESS);
    }
    const controller = new AbortController();
    node.get(first + slice, controller.signal, INGRESS).then(
      ({ tier, overtaken }) => {
        if (node.state === 'up') this.#fetched(slice, attempt, tier === 'memory', overtaken);
      },
      (error: unknown) => {
        if (node.state === 'up') this.#driver.failed(slice, attempt, error);
      },
    );
    return () => controller.abort(new Error('no longer wanted'));
  }

  #fetched(slice: number, attempt: number, local: boolean, overtaken = false): void {
    if (!this.#driver.wants(slice, attempt)) return;
    const { figures } = this.#options.node.world;
    figures.windowSum += this.#window.size;
    figures.windowSamples++;
    this.#driver.fetched(slice, attempt, local, overtaken);
  }

  #send(slice: number): void {
    this.#queue.push(slice);
    if (!this.#isSending) this.#sendNext();
  }

  #sendNext(): void {
    const slice = this.#queue.shift();
    this.#isSending = slice !== undefined;
    if (slice !== undefined && !this.#driver.over) this.#start(slice);
  }

  #start(slice: number): void {
    const { node, from, to, delayMs, first, onBytes } = this.#options;
    const { sim, o } = node.world;
    node.served++;
    const flow: Flow = new Flow(sim, {
      ...{ from, to, delayMs },
      bytes: o.chunkBytes,
      pieceBytes: o.pieceBytes,
      connected: () => node.state === 'up',
      onHandedOver: () => this.#sendNext(),
      onBytes: (count, left) => {
        if (this.#driver.over) return;
        onBytes(first + slice, count);
        if (left > 0) return;
        this.#flows.delete(flow);
        this.#held--;
        this.#driver.sent(slice);
      },
    });
    this.#flows.add(flow);
  }

  #end(error: MillraceError): void {
    if (this.#driver.end()) this.#ended(error);
  }

  #ended(error: MillraceError | undefined): void {
    this.#forget();
    const { node, delayMs, onEnd } = this.#options;
    if (error === undefined) return onEnd(undefined);
    node.world.sim.clock.in(delayMs, () => onEnd(error));
  }

  #forget(): void {
    this.#options.node.transfers--;
    this.#options.node.connections.delete(this.#breakOff);
    for (const flow of this.#flows) flow.cancel();
  }
}
