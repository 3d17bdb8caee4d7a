/**
 * A plain client of a simulated edge: one response for the whole file. An aware client resumes at
 * another edge when a connection breaks (ANYCAST 3.1), after the chunks that it has without a gap.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import { SimDelivery } from './delivery.ts';
import { Downloading, type DownloadingOptions } from './downloading.ts';
import type { SimNode } from './node.ts';
import type { Place } from './places.ts';
import { rttMs } from './places.ts';
import type { Host } from './wire.ts';

/** Longest silence of an edge, milliseconds: for an aware client, and for a plain one. */
const AWARE_STALL_MS = 10_000;
const PLAIN_STALL_MS = 60_000;
/** Pause before an aware client resumes at another edge. */
const PAUSE_MS = 200;

/** A plain client uses the first edge only. */
export interface ClientOptions extends DownloadingOptions {
  readonly host: Host;
  /** Node on whose machine the client runs, if any: then `host` is that machine's loopback. */
  readonly home?: SimNode;
  readonly place: Place;
  readonly inOrder: boolean;
  readonly aware: boolean;
  readonly onDone?: (client: SimClient) => void;
}

export class SimClient extends Downloading {
  readonly o: ClientOptions;
  /** Connections that broke or fell silent, after which the client went to another edge. */
  resumes = 0;
  #edge = 0;
  /** Connections so far. The client ignores events of earlier ones. */
  #connections = 0;
  /** Number of chunks that the client has from the beginning of the file, without a gap. */
  #have = 0;
  readonly #bytes = new Map<number, number>();
  #heardAt: Millis = 0;
  #delivery: SimDelivery | undefined;

  constructor(options: ClientOptions) {
    super(options);
    this.o = options;
  }

  protected begin(): void {
    this.#connect();
    this.#watch();
  }

  #connect(): void {
    if (this.state !== 'running') return;
    const { edges, host, home, place, inOrder } = this.o;
    const world = this.world;
    const connection = ++this.#connections;
    const node = edges[this.#edge % edges.length] as SimNode;
    const delayMs = rttMs(place, node.place) / 2;
    this.#heardAt = world.sim.now;
    this.#delivery = undefined;
    const onEnd = (error: MillraceError | undefined) => {
      if (connection === this.#connections) this.#ended(error);
    };
    world.sim.clock.in(delayMs, () => {
      if (connection !== this.#connections) return;
      if (node.state === 'gone') return this.#ended(undefined);
      if (node.state === 'frozen') return;
      this.#delivery = new SimDelivery({
        ...{ node, delayMs, inOrder, onEnd },
        from: node === home ? host : node,
        to: node === home ? host : (home ?? host),
        first: this.#have,
        count: world.o.chunks - this.#have,
        onBytes: (chunk, count) => this.#onBytes(chunk, count),
      });
    });
  }

  #onBytes(chunk: number, count: number): void {
    const { chunks, chunkBytes } = this.world.o;
    this.#heardAt = this.world.sim.now;
    this.#bytes.set(chunk, (this.#bytes.get(chunk) ?? 0) + count);
    while ((this.#bytes.get(this.#have) ?? 0) >= chunkBytes) this.#bytes.delete(this.#have++);
    if (this.#have === chunks) this.#finish('complete');
  }

  #ended(error: MillraceError | undefined): void {
    if (this.state !== 'running') return;
    if (!this.o.aware || (error !== undefined && error.code !== 'origin-reset')) {
      return this.#finish('failed');
    }
    this.resumes++;
    this.#edge++;
    this.#delivery?.cancel();
    // Requests partial chunks again; real clients keep their bytes and request the rest.
    this.#bytes.clear();
    this.#connections++;
    this.#heardAt = this.world.sim.now;
    this.world.sim.clock.in(PAUSE_MS, () => this.#connect());
  }

  #watch(): void {
    const { clock } = this.world.sim;
    if (this.state !== 'running') return;
    const patience = this.o.aware ? AWARE_STALL_MS : PLAIN_STALL_MS;
    if (clock.now - this.#heardAt >= patience) this.#ended(undefined);
    clock.in(1000, () => this.#watch());
  }

  #finish(state: 'complete' | 'failed'): void {
    if (!this.end(state)) return;
    this.#delivery?.cancel();
    this.#delivery = undefined;
    this.#bytes.clear();
    this.o.onDone?.(this);
  }
}
