/**
 * A node's knowledge of how far clients' networks are from it and from other nodes: the shortest
 * round trip of the last minutes, per network and node. A node measures its own clients and tells
 * the others; a client can make its own network look farther than it is, and nothing else.
 */

import type { Millis, Random } from '../../base/clock.ts';
import { sample } from '../routing/sample.ts';

/** Most networks remembered; the network that was used longest ago is forgotten first. */
export const MAX_NETWORKS = 10_000;
/** Most nodes remembered per network; the farthest is forgotten first. */
export const MAX_NODES_PER_NETWORK = 8;
/** Most figures that a node tells in one answer to a heartbeat. */
export const MAX_TOLD_NETWORKS = 64;
/** Time for which a shortest round trip counts before the next one replaces it. */
const MINIMUM_MS = 10 * 60_000;
/** Age at which a round trip no longer says anything: routes change, and clients move. */
const FORGET_AFTER_MS = 30 * 60_000;
/** Time for which a node that a client was sent to is expected to tell what it has measured. */
const EXPECTED_MS = 60_000;
/** Longest round trip that is believed. */
export const MAX_RTT_MS = 10_000;

/** Weights of a network and of one node's figure for it, bytes. */
export const NETWORK_BYTES = 340;
export const FIGURE_BYTES = 80;

/** A network and its round trip to the node that tells it, milliseconds. */
export type ToldRtt = readonly [network: string, rttMs: Millis];

interface Figure {
  rttMs: Millis;
  /** When the round trip was measured or told. */
  at: Millis;
}

interface Network {
  readonly figures: Map<string, Figure>;
  /** Nodes that clients were sent to in order to be measured, and when. */
  sent: Map<string, Millis> | undefined;
}

export class NetworkRtts {
  readonly #own: string;
  /** Networks, the one that was used last at the end. */
  readonly #networks = new Map<string, Network>();
  #figures = 0;

  /** @param own name of this node */
  constructor(own: string) {
    this.#own = own;
  }

  /** Networks that are remembered. */
  get size(): number {
    return this.#networks.size;
  }

  /** Weight of everything remembered, bytes. */
  get bytes(): number {
    return this.#networks.size * NETWORK_BYTES + this.#figures * FIGURE_BYTES;
  }

  /**
   * Notes a round trip of a client of this node.
   *
   * @param network key of the client's network
   * @param rttMs milliseconds; values that no network has are ignored
   * @param now monotonic milliseconds
   */
  onMeasured(network: string, rttMs: Millis, now: Millis): void {
    if (!isPossible(rttMs)) return;
    const { figures } = this.#use(network);
    const known = figures.get(this.#own);
    const stands = known !== undefined && known.rttMs <= rttMs && now - known.at < MINIMUM_MS;
    if (!stands) this.#put(figures, this.#own, { rttMs, at: now });
  }

  /** Notes what another node tells of its clients; impossible figures are ignored. */
  onTold(node: string, told: readonly ToldRtt[], now: Millis): void {
    if (node === this.#own) return;
    for (const [network, rttMs] of told.slice(0, MAX_TOLD_NETWORKS)) {
      if (!isPossible(rttMs)) continue;
      this.#put(this.#use(network).figures, node, { rttMs, at: now });
    }
  }

  /** Notes that a client of a network is sent to a node so that the node measures it. */
  onSent(network: string, node: string, now: Millis): void {
    const entry = this.#use(network);
    const sent = entry.sent ?? new Map();
    entry.sent = sent;
    sent.delete(node);
    sent.set(node, now);
    if (sent.size > MAX_NODES_PER_NETWORK) sent.delete(sent.keys().next().value as string);
  }

  /** Returns true while a node is expected to tell its round trip of the network. */
  isExpected(network: string, node: string, now: Millis): boolean {
    const at = this.#networks.get(network)?.sent?.get(node);
    return at !== undefined && now - at < EXPECTED_MS;
  }

  /** Returns the network's round trip to a node; undefined if nobody has measured it lately. */
  rtt(network: string, node: string, now: Millis): Millis | undefined {
    const figure = this.#networks.get(network)?.figures.get(node);
    if (figure === undefined || now - figure.at >= FORGET_AFTER_MS) return undefined;
    return figure.rttMs;
  }

  /**
   * Returns figures of this node's own clients for another node: half of them the ones that were
   * used last, the others a sample, so that older ones are told as well.
   */
  toTell(now: Millis, random: Random): ToldRtt[] {
    const own: ToldRtt[] = [];
    for (const [network, { figures }] of this.#networks) {
      const figure = figures.get(this.#own);
      if (figure !== undefined && now - figure.at < FORGET_AFTER_MS)
        own.push([network, Math.round(figure.rttMs * 10) / 10]);
    }
    if (own.length <= MAX_TOLD_NETWORKS) return own;
    const latest = own.splice(-MAX_TOLD_NETWORKS / 2);
    return [...latest, ...sample(own, MAX_TOLD_NETWORKS / 2, random)];
  }

  #use(key: string): Network {
    const network = this.#networks.get(key) ?? { figures: new Map(), sent: undefined };
    this.#networks.delete(key);
    this.#networks.set(key, network);
    if (this.#networks.size > MAX_NETWORKS) {
      const [[oldest, { figures }]] = this.#networks as unknown as [[string, Network]];
      this.#networks.delete(oldest);
      this.#figures -= figures.size;
    }
    return network;
  }

  #put(figures: Map<string, Figure>, node: string, figure: Figure): void {
    this.#figures -= figures.size;
    figures.set(node, figure);
    if (figures.size > MAX_NODES_PER_NETWORK) {
      // This node's own figure stays: nobody else would tell it.
      const others = [...figures].filter(([name]) => name !== this.#own);
      const [farthest] = others.reduce((a, b) => (a[1].rttMs >= b[1].rttMs ? a : b));
      figures.delete(farthest);
    }
    this.#figures += figures.size;
  }
}

function isPossible(rttMs: Millis): boolean {
  return rttMs >= 0 && rttMs <= MAX_RTT_MS;
}
