/**
 * Nodes of a network in virtual time, from the view of an agent on one of them: links whose rates
 * vary and drop, an origin behind them, and a client.
 */

import { seededRandom } from '@millrace/shared/base/clock';
import { hashText, rank } from '@millrace/shared/cdn/routing/hrw';
import {
  type SimulatedConnection,
  SimulatedLink,
  SimulatedSource,
} from '@millrace/shared/testing/simulated-source';
import { VaryingLink } from '@millrace/shared/testing/varying-link';
import type { VirtualClock } from '@millrace/shared/testing/virtual-clock';
import type { FetchObserver, World } from './agent-run.ts';

/** One megabit per second, in bytes. */
const MBIT = 125_000;

export interface VirtualNetwork {
  readonly nodes: number;
  /** Mean rate of a node's link; the fastest node has four times the rate of the slowest. */
  readonly nodeMegabits: number;
  /** Shortest and longest round trip to a node; round trips are spread evenly between them. */
  readonly rttMs: readonly [number, number];
  readonly clientMegabits: number;
  /** Share of time in which a link hardly sends. */
  readonly slowdowns: number;
  /** Rate of the origin; undefined: every chunk is cached at its node. */
  readonly originMegabits?: number | undefined;
  readonly originRttMs?: number;
}

interface Node {
  readonly name: string;
  readonly seed: ReturnType<typeof hashText>;
  readonly weight: number;
  readonly source: SimulatedSource;
  readonly idle: SimulatedConnection[];
}

const SPREAD = 0.3;
/** Nodes that an agent requests a chunk from, best first. */
const REPLICAS = 4;

export class VirtualWorld implements World {
  readonly #clock: VirtualClock;
  readonly #chunkBytes: number;
  readonly #fileBytes: number;
  readonly #nodes: Node[];
  readonly #origin: Node | undefined;
  readonly #client: SimulatedLink;
  readonly #file: string;
  /** Chunks by the node that has them. */
  readonly #cached = new Set<string>();

  constructor(
    clock: VirtualClock,
    network: VirtualNetwork,
    file: { chunkBytes: number; fileBytes: number; seed: number },
  ) {
    this.#clock = clock;
    this.#chunkBytes = file.chunkBytes;
    this.#fileBytes = file.fileBytes;
    this.#file = `file-${file.seed}`;
    this.#client = new SimulatedLink(network.clientMegabits * MBIT);
    const random = seededRandom(file.seed);
    const [near, far] = network.rttMs;
    this.#nodes = Array.from({ length: network.nodes }, (_, i) => {
      const megabits = network.nodeMegabits * 2 ** (2 * random() - 1);
      const rttMs = near + random() * (far - near);
      return this.#node(`node-${i}`, megabits, rttMs, network.slowdowns, file.seed * 1009 + i);
    });
    const { originMegabits, originRttMs = 50 } = network;
    this.#origin =
      originMegabits === undefined
        ? undefined
        : this.#node('origin', originMegabits, originRttMs, 0, file.seed * 1009 - 1);
  }

  now(): number {
    return this.#clock.now;
  }

  at(time: number, run: () => void): void {
    this.#clock.at(time, run);
  }

  fetch(chunk: number, attempt: number, observer: FetchObserver): () => void {
    const ranked = rank(`${this.#file},${chunk}`, this.#nodes, REPLICAS);
    const node = ranked[attempt % ranked.length] as Node;
    const key = `${node.name},${chunk}`;
    let cancel = () => {};
    const fromNode = () => {
      this.#cached.add(key);
      cancel = this.#request(node, chunk, observer);
    };
    const origin = this.#origin;
    if (origin === undefined || this.#cached.has(key)) fromNode();
    else {
      const onBytes = () => {};
      const onFailed = () => observer.onFailed();
      cancel = this.#request(origin, chunk, { onBytes, onDone: fromNode, onFailed });
    }
    return () => cancel();
  }

  send(chunk: number, sent: () => void): void {
    this.#clock.at(this.#client.send(this.#bytes(chunk), this.#clock.now), sent);
  }

  #node(name: string, megabits: number, rttMs: number, slowdowns: number, seed: number): Node {
    const random = seededRandom(seed);
    const link = new VaryingLink({
      bytesPerSecond: megabits * MBIT,
      random,
      spread: SPREAD,
      slowdowns,
    });
    const source = new SimulatedSource(this.#clock, { id: name, links: [link], rttMs });
    return { name, seed: hashText(name), weight: 1, source, idle: [] };
  }

  #bytes(chunk: number): number {
    return Math.min(this.#chunkBytes, this.#fileBytes - chunk * this.#chunkBytes);
  }

  #request(node: Node, chunk: number, observer: FetchObserver): () => void {
    const connection = node.idle.pop() ?? node.source.connect();
    const bytes = this.#bytes(chunk);
    let left = bytes;
    connection.request(
      { start: 0, end: bytes },
      {
        onData: (count) => {
          left -= count;
          observer.onBytes(count);
          if (left > 0) return;
          node.idle.push(connection);
          observer.onDone();
        },
        onReset: () => observer.onFailed(),
      },
    );
    return () => {
      if (left > 0) connection.close();
    };
  }
}
