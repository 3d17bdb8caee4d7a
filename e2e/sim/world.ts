/** A simulated network: its nodes, its origin, one file, and the counters. */

import type { Millis } from '@millrace/shared/base/clock';
import { routingKey } from '@millrace/shared/cdn/chunks/chunk-name';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { PeerUse } from '@millrace/shared/cdn/routing/peer-use';
import { SimNode } from './node.ts';
import type { Place } from './places.ts';
import { rttMs } from './places.ts';
import { Simulation } from './simulation.ts';
import { Link } from './wire.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly chunks: number;
  readonly chunkBytes: number;
  /**
   * Memory in bytes for one client's response: bounds its window, and determines the number of
   * replicas.
   */
  readonly bufferBytes: number;
  readonly maxHops: number;
  /** True if the best node of a region asks the best of all before the origin, as edges do. */
  readonly farHop: boolean;
  readonly originMbit: number;
  readonly originPlace: Place;
  /** Size of the pieces in which bytes travel: smaller is more exact and slower. */
  readonly pieceBytes: number;
  /** Connections to the origin that are slow, at random: their share, and the rate of each. */
  readonly slowConnections?: { readonly share: number; readonly mbit: number };
  /** Patience at the origin and with nodes that are receiving a chunk (`hedge.ts`). */
  readonly patience: { readonly origin: number; readonly receivers: number };
  /** Interval at which a waiting node learns the progress of its chunk; 100 ms in edges. */
  readonly interimMs: Millis;
}

/** Counts since the last `forget`. */
export class Figures {
  /** Complete fetches from the origin, by chunk. */
  readonly originFetches: number[];
  /** Requests from node to node, by hop: the first is at index 1. */
  readonly forwards: number[] = [0, 0];
  /** Requests of clients' nodes for chunks. */
  chunkRequests = 0;
  /** Further attempts of the agent at a chunk, and chunks that had any. */
  retries = 0;
  retriedChunks = 0;
  /** Chunks fetched by hop, and those of them that were requested again; hop 0: at the origin. */
  readonly fetches: { all: number; again: number }[] = [];
  /** Requests that competed with an earlier one for the same chunk. */
  races = 0;
  /** Number of these races that the first request won. */
  racesWonByFirst = 0;
  /** Requests to other nodes that failed. */
  peerFailures = 0;
  /** Sum of the window's sizes when chunks arrived, and the number of these sizes. */
  windowSum = 0;
  windowSamples = 0;
  /** Chunks requested for a client and not taken by it yet, each time that one more is requested. */
  readonly held: number[] = [];

  constructor(chunks: number) {
    this.originFetches = Array(chunks).fill(0);
  }

  /** @param requests that the fetch of a chunk has sent at this hop */
  fetched(hop: number, requests: number): void {
    const { all = 0, again = 0 } = this.fetches[hop] ?? {};
    this.fetches[hop] = { all: all + 1, again: again + (requests > 1 ? 1 : 0) };
  }
}

export class World {
  o: WorldOptions;
  readonly sim: Simulation;
  figures: Figures;
  readonly nodes: SimNode[] = [];
  readonly origin: {
    readonly up: Link;
    readonly down: Link;
    readonly place: Place;
    silent: boolean;
  };
  /** Users of each node as a peer, as told by heartbeats. */
  readonly use = new PeerUse();
  readonly #byName = new Map<string, SimNode>();
  readonly #sites = new Map<Place, SimNode[]>();
  readonly #keys: string[];
  /** Returns true if messages get through from one node to another; partitions change it. */
  reaches: (a: SimNode, b: SimNode) => boolean = () => true;

  constructor(options: WorldOptions) {
    this.o = options;
    this.sim = new Simulation(options.seed);
    this.figures = new Figures(options.chunks);
    const { originMbit, originPlace, chunks } = options;
    const up = new Link(originMbit);
    this.origin = { up, down: new Link(originMbit), place: originPlace, silent: false };
    this.#keys = Array.from({ length: chunks }, (_, i) => this.routingKey(i, ''));
  }

  add(place: Place, mbit: number): SimNode {
    const node = new SimNode(this, `node-${this.nodes.length}`, place, mbit);
    this.nodes.push(node);
    this.#byName.set(node.name, node);
    const site = this.#sites.get(place);
    if (site === undefined) this.#sites.set(place, [node]);
    else site.push(node);
    return node;
  }

  /** Returns the nodes at a node's place, itself included. */
  siteOf({ place }: SimNode): readonly SimNode[] {
    return this.#sites.get(place) ?? [];
  }

  byName(name: string): SimNode {
    const node = this.#byName.get(name);
    if (node === undefined) throw new Error(`there is no ${name}`);
    return node;
  }

  get fileBytes(): number {
    return this.o.chunks * this.o.chunkBytes;
  }

  /** Makes the text that routing hashes for a chunk. */
  routingKey(chunk: number, salt: string): string {
    if (salt === '' && this.#keys?.[chunk] !== undefined) return this.#keys[chunk];
    const url = 'https://origin.example/file.iso';
    return routingKey({ url, range: chunkRange(chunk, this.o.chunkBytes, this.fileBytes), salt });
  }

  delayMs(a: { readonly place: Place }, b: { readonly place: Place }): Millis {
    return rttMs(a.place, b.place) / 2;
  }

  /** True while bytes get from one node to the other. */
  isConnected(a: SimNode, b: SimNode): boolean {
    return a.state === 'up' && b.state === 'up' && this.reaches(a, b);
  }

  /** Resets all counts. */
  forget(): void {
    this.figures = new Figures(this.o.chunks);
    this.origin.up.bytes = 0;
    for (const node of this.nodes) node.served = 0;
  }

  /** Bytes that the origin has sent, divided by the size of the file. */
  get copies(): number {
    return this.origin.up.bytes / this.fileBytes;
  }
}
