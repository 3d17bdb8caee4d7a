/** A client with the real download scheduler, which uses several edges at once. */

import type { Millis } from '@millrace/shared/base/clock';
import { Scheduler } from '@millrace/shared/download/scheduler';
import { SimulatedDownload } from '@millrace/shared/testing/simulated-download';
import { EdgeSource, type Seat } from './edge-source.ts';
import type { SimNode } from './node.ts';

/** Connections to each edge. */
const CONNECTIONS = 2;
/** How long an edge may say nothing. */
const STALL_MS = 10_000;
/** What may be fetched twice, as a share of the file (LOCI 5). */
const REDUNDANT_SHARE = 0.02;

export interface ScheduledClientOptions extends Seat {
  /** Edges that it uses, nearest first. */
  readonly edges: readonly SimNode[];
  readonly startAt: Millis;
  readonly onDone?: (client: ScheduledClient) => void;
}

export class ScheduledClient {
  readonly o: ScheduledClientOptions;
  state: 'waiting' | 'running' | 'complete' | 'failed' = 'waiting';
  endedAt: Millis = 0;
  /** Requests beyond the first of each connection: blocks, and what was asked for anew. */
  resumes = 0;

  constructor(options: ScheduledClientOptions) {
    this.o = options;
    this.#world.sim.clock.at(options.startAt, () => this.#begin());
  }

  get tookMs(): Millis {
    return this.endedAt - this.o.startAt;
  }

  /** Mean throughput in Mbit/s; only for complete ones. */
  get mbit(): number {
    return (this.#world.fileBytes * 8) / 1000 / this.tookMs;
  }

  get #world() {
    return (this.o.edges[0] as SimNode).world;
  }

  #begin(): void {
    const { sim, fileBytes, o } = this.#world;
    const { edges, onDone } = this.o;
    this.state = 'running';
    const scheduler = new Scheduler(
      {
        length: fileBytes,
        mode: 'progress',
        redundantBytes: REDUNDANT_SHARE * fileBytes,
        connections: CONNECTIONS * edges.length,
      },
      sim.now,
    );
    // Blocks begin where chunks do, as with edges that clients know the chunks of.
    const { chunkBytes } = o;
    for (const { name } of edges) scheduler.addSource(name, { owns: () => true, chunkBytes });
    const download = new SimulatedDownload({
      clock: sim.clock,
      chooser: scheduler,
      sources: edges.map((node) => new EdgeSource(node, this.o)),
      connectionsPerSource: CONNECTIONS,
      timeoutMs: STALL_MS,
      seed: Math.floor(sim.random() * 2 ** 31),
      onProgress: () => {
        if (!scheduler.done || this.state === 'complete') return;
        this.state = 'complete';
        this.endedAt = sim.now;
        this.resumes = download.requests - CONNECTIONS * edges.length;
        download.stop();
        onDone?.(this);
      },
    });
    download.start();
  }
}
