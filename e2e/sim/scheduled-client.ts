/** A client with the real download scheduler, which uses several edges at once. */

import { Scheduler } from '@millrace/shared/download/scheduler/scheduler';
import { SimulatedDownload } from '@millrace/shared/testing/simulated-download';
import { Downloading, type DownloadingOptions } from './downloading.ts';
import { EdgeSource, type Seat } from './edge-source.ts';

/** Connections to each edge. */
const CONNECTIONS = 2;
/** Longest silence of an edge. */
const STALL_MS = 10_000;
/** Share of the file that may be fetched twice (LOCI 5). */
const REDUNDANT_SHARE = 0.02;

/** Options of a client that uses all its edges at once. */
export interface ScheduledClientOptions extends Seat, DownloadingOptions {
  readonly onDone?: (client: ScheduledClient) => void;
}

export class ScheduledClient extends Downloading {
  readonly o: ScheduledClientOptions;
  /** Requests beyond the first of each connection: further blocks, and repeated requests. */
  resumes = 0;

  constructor(options: ScheduledClientOptions) {
    super(options);
    this.o = options;
  }

  protected begin(): void {
    const { sim, fileBytes, o } = this.world;
    const { edges, onDone } = this.o;
    const scheduler = new Scheduler(
      {
        length: fileBytes,
        mode: 'progress',
        redundantBytes: REDUNDANT_SHARE * fileBytes,
        connections: CONNECTIONS * edges.length,
      },
      sim.now,
    );
    // Blocks begin at chunk boundaries, as with real edges whose chunks clients know.
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
        if (!scheduler.done || !this.end('complete')) return;
        this.resumes = download.requests - CONNECTIONS * edges.length;
        download.stop();
        onDone?.(this);
      },
    });
    download.start();
  }
}
