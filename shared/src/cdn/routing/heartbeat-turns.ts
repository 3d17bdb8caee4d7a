/**
 * Decides which node a node sends a heartbeat to, and when: regularly to the next address of the
 * book, at once to an address that is new, and at once to a node that has just failed (NSDI 4.2).
 */

import type { Millis, Random } from '../../base/clock.ts';
import { AddressBook } from './address-book.ts';
import { sample } from './sample.ts';

/** Interval between heartbeats (NSDI 4.2). */
export const HEARTBEAT_INTERVAL_MS = 500;
/** Interval of the slow beat, to nodes that are no peers, in heartbeats. */
const BEATS_PER_STRANGER = 5;
/** Most heartbeats to new addresses in an interval, in addition to the regular one. */
const NEW_PER_BEAT = 4;
/**
 * Addresses that an answer tells of. In a network of 2,000 nodes, a node hears all of them within a
 * minute even so, and heartbeats of 500 addresses would cost it 34 KB each second.
 */
export const TOLD = 50;
/** Most addresses that are read of an answer; nodes of earlier versions tell so many. */
export const MAX_TOLD = 500;
/** Most heartbeats under way at a time, when many nodes are heard of at once. */
const MAX_ASKING = 16;
/** Shortest time between two heartbeats to a node that fails again and again. */
const MIN_PING_PAUSE_MS = 1000;

export interface HeartbeatTurnsOptions {
  /** Sends a heartbeat, and reports it by `onSent`, `onClosed`, and `onAnswer` or `onMiss`. */
  readonly ask: (url: string) => void;
  /** Returns false for addresses that this node must not ask. */
  readonly mayAsk: (url: string) => boolean;
  /** Addresses of the present peers. */
  readonly peers: () => readonly string[];
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** This node's site, if it has one. */
  readonly site?: string | undefined;
}

/** Addresses that an answer tells of. */
export interface Told {
  readonly nodes: readonly string[];
  /** How many of these, from the first on, are peers of the teller. */
  readonly nearNodes: number;
}

/**
 * Draws the addresses that an answer tells of: some peers, which are near, so that near nodes find
 * each other in a large network, and a sample of all, so that no node is left out.
 *
 * @param peers addresses of the teller's peers
 * @param all addresses of all nodes that answer it, its peers among them
 */
export function toldNodes(peers: readonly string[], all: readonly string[], random: Random): Told {
  if (all.length <= TOLD) return { nodes: all, nearNodes: 0 };
  const near = sample(peers, TOLD / 2, random);
  const others = sample(all, TOLD, random).filter((url) => !near.includes(url));
  return { nodes: [...near, ...others].slice(0, TOLD), nearNodes: near.length };
}

export class HeartbeatTurns {
  readonly addresses: AddressBook;
  readonly #options: HeartbeatTurnsOptions;
  /** Times of the last pings of nodes after failures. */
  readonly #pinged = new Map<string, Millis>();
  /** Heartbeats under way. */
  #asking = 0;
  #beats = 0;

  constructor(options: HeartbeatTurnsOptions) {
    this.#options = options;
    this.addresses = new AddressBook(options.site);
  }

  /** Asks the next node; called once in each interval. */
  beat(): void {
    const { now, peers } = this.#options;
    this.#ask(this.addresses.next(now(), peers));
    if (++this.#beats % BEATS_PER_STRANGER === 0) this.#ask(this.addresses.nextStranger());
    for (let i = 0; i < NEW_PER_BEAT && this.#asking < MAX_ASKING; i++) {
      this.#ask(this.addresses.nextNew());
    }
  }

  #ask(url: string | undefined): void {
    if (url !== undefined) this.#options.ask(url);
  }

  /**
   * Takes an address that another node has named, or has asked from.
   *
   * @param isNear true if a peer has named it as a peer of its own
   */
  hearOf(url: string, isNear = false): void {
    if (!this.isNew(url, isNear)) return;
    // At once, so that nodes that have just started find each other soon, but without a storm.
    if (this.#asking < MAX_ASKING && this.addresses.isSoon(url)) this.#options.ask(url);
  }

  /** Takes the addresses that the answer of a node tells of. */
  hearTold(teller: string, { nodes, nearNodes }: Told): void {
    const isPeer = nearNodes > 0 && this.#options.peers().includes(teller);
    for (const [i, url] of nodes.entries()) this.hearOf(url, isPeer && i < nearNodes);
  }

  /** Records a new address. @returns false if it is known, or may not be asked */
  isNew(url: string, isNear = false): boolean {
    const { mayAsk } = this.#options;
    return !this.addresses.has(url) && mayAsk(url) && this.addresses.hear(url, isNear);
  }

  /** Asks a node after a failure: at once, or soon if that has just been done. */
  ping(url: string): void {
    const now = this.#options.now();
    for (const [other, at] of this.#pinged) {
      if (now - at >= MIN_PING_PAUSE_MS) this.#pinged.delete(other);
    }
    if (this.#pinged.has(url)) return this.addresses.suspect(url, now);
    this.#pinged.set(url, now);
    this.#options.ask(url);
  }

  /** A heartbeat goes out; called before it can be closed. */
  onSent(url: string): void {
    this.addresses.onAsked(url);
    this.#asking++;
  }

  /** A heartbeat is answered, or is late. */
  onClosed(): void {
    this.#asking--;
  }

  /**
   * @param isOther this node itself answered, or a node known under another address
   * @param site of the node that answered
   * @param isKept false if this node remembers others instead
   */
  onAnswer(url: string, isOther: boolean, site?: string, isKept = true): void {
    this.addresses.onAnswer(url, isOther, site, isKept);
  }

  /**
   * A heartbeat was not answered, or not in time. Called before the node's peers are chosen again:
   * afterwards the silent node may be none of them.
   */
  onMiss(url: string): void {
    const { now, peers } = this.#options;
    if (peers().includes(url)) this.addresses.suspect(url, now());
    const standIn = this.addresses.onMiss(url);
    if (standIn !== undefined && this.#asking < MAX_ASKING) this.#options.ask(standIn);
  }
}
