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
  /** Memory for one client's response: bounds its window, and says how many replicas there are. */
  readonly bufferBytes: number;
  readonly maxHops: number;
  /** Whether the best node of a region asks the best of all before the origin; edges do. */
  readonly farHop: boolean;
  readonly originMbit: number;
  readonly originPlace: Place;
  /** In pieces of this size bytes travel: smaller is more exact and slower. */
  readonly pieceBytes: number;
  /** How often a node that waits is told how far its chunk is; edges do it every 100 ms. */
  readonly interimMs: Millis;
}

/** Counts since the beginning. */
export class Figures {
  /** Complete fetches from the origin, by chunk. */
  readonly originFetches: number[];
  /** Requests from node to node, by hop: the first is at index 1. */
  readonly forwards: number[] = [0, 0];
  /** Chunks that clients' nodes were asked for. */
  chunkRequests = 0;
  /** Second attempts at a chunk that the agent made. */
  retries = 0;
  /** Requests that competed with an earlier one for the same chunk. */
  races = 0;
  /** Of these, those that the first request won. */
  racesWonByFirst = 0;
  /** Requests to other nodes that failed. */
  peerFailures = 0;
  /** Sizes of windows when a chunk came, summed, and how many. */
  windowSum = 0;
  windowSamples = 0;

  constructor(chunks: number) {
    this.originFetches = Array(chunks).fill(0);
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
  /** Users of each node as a peer, as heartbeats have told. */
  readonly use = new PeerUse();
  readonly #byName = new Map<string, SimNode>();
  readonly #keys: string[];
  /** Tells whether messages get through between two places; partitions change it. */
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
    return node;
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

  /** Begins to count anew. */
  forget(): void {
    this.figures = new Figures(this.o.chunks);
    this.origin.up.bytes = 0;
    for (const node of this.nodes) node.served = 0;
  }

  /** Bytes that the origin has sent over the size of the file. */
  get copies(): number {
    return this.origin.up.bytes / this.fileBytes;
  }
}
