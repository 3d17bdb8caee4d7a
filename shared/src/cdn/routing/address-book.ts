/**
 * The addresses at which nodes may be found: which of them is asked next, and which are forgotten
 * (NSDI 4.2, where all nodes are asked in turn).
 *
 * In a small network all addresses are asked in turn. In a large one such a round would take
 * minutes, so there are two beats: each peer is asked once a minute, as in the paper, where nodes
 * have at most 120 peers; all other addresses share the turns that are left, and a slow beat of
 * their own. A peer that did not answer is asked again soon, so that a dead one is noticed within
 * little more than a minute, however many nodes there are.
 */

import type { Millis } from '../../base/clock.ts';
import { MAX_PEERS } from './peer-set.ts';

/** Most addresses remembered: any node may name more. */
export const MAX_ADDRESSES = 4000;
/**
 * Unanswered requests in a row after which an address that only other nodes have named is
 * forgotten.
 */
export const MAX_VAIN = 20;

/** Length of a round over all peers: two heartbeats a second for `MAX_PEERS` peers (NSDI 4.2). */
export const PEER_ROUND_MS = 60_000;
/** Time after which a peer that did not answer is asked again. */
export const SUSPECT_PAUSE_MS = 4000;
interface Address {
  /** Given by the operator: asked for ever, whether it answers or not. */
  isSeed: boolean;
  vain: number;
  /** This node itself answered there, or a node known under another address. */
  isOther: boolean;
}

export class AddressBook {
  readonly #addresses = new Map<string, Address>();
  #queue: string[] = [];
  /** Peers still to be asked in this round. */
  #peerQueue: string[] = [];
  #roundBeganAt = Number.NEGATIVE_INFINITY;
  /** Addresses that have never been asked, oldest first. */
  readonly #new = new Set<string>();
  /** Peers that did not answer, and when each is asked again, earliest first. */
  readonly #suspects = new Map<string, Millis>();

  get urls(): string[] {
    return [...this.#addresses.keys()];
  }

  has(url: string): boolean {
    return this.#addresses.has(url);
  }

  /**
   * Adds an address that another node has named.
   *
   * @returns false if it is known, or there is no room
   */
  hear(url: string): boolean {
    if (this.has(url) || this.#addresses.size >= MAX_ADDRESSES) return false;
    this.#add(url, false);
    return true;
  }

  /** Adds an address that the operator has given. @returns false if it is known */
  addSeed(url: string): boolean {
    if (this.has(url)) return false;
    this.#add(url, true);
    return true;
  }

  /**
   * Sets the addresses that the operator's names resolve to now; earlier ones count as named by
   * other nodes.
   */
  setSeeds(urls: Iterable<string>): void {
    const seeds = new Set(urls);
    for (const [url, address] of this.#addresses) address.isSeed = seeds.has(url);
    for (const url of seeds) this.addSeed(url);
  }

  /**
   * The address to ask next: all in turn, except further addresses of known nodes. Peers that did
   * not answer come first; in networks with more nodes than a node has peers, peers are asked more
   * often than others.
   *
   * @param peers addresses of the present peers; called once in a round
   */
  next(now: Millis, peers: () => readonly string[]): string | undefined {
    const suspect = this.#nextSuspect(now);
    if (suspect !== undefined) return suspect;
    return (this.#isLarge ? this.#nextPeer(now, peers) : undefined) ?? this.#nextOfAll();
  }

  /**
   * The address to ask in the slow beat, which peers have no part in however many of them wait;
   * undefined in networks that have one beat only.
   */
  nextStranger(): string | undefined {
    return this.#isLarge ? this.#nextOfAll() : undefined;
  }

  /** An address that has never been asked, if there is one. */
  nextNew(): string | undefined {
    const [url] = this.#new;
    return url;
  }

  /** An address is asked now. */
  onAsked(url: string): void {
    this.#new.delete(url);
  }

  /** Has a peer that did not answer asked again soon. */
  suspect(url: string, now: Millis): void {
    this.#suspects.delete(url);
    this.#suspects.set(url, now + SUSPECT_PAUSE_MS);
    if (this.#suspects.size > MAX_PEERS) {
      this.#suspects.delete(this.#suspects.keys().next().value as string);
    }
  }

  get #isLarge(): boolean {
    return this.#addresses.size > MAX_PEERS;
  }

  #nextSuspect(now: Millis): string | undefined {
    const [first] = this.#suspects;
    if (first === undefined || first[1] > now) return undefined;
    this.#suspects.delete(first[0]);
    return this.has(first[0]) ? first[0] : this.#nextSuspect(now);
  }

  #nextPeer(now: Millis, peers: () => readonly string[]): string | undefined {
    if (this.#peerQueue.length === 0 && now - this.#roundBeganAt >= PEER_ROUND_MS) {
      this.#peerQueue = [...peers()];
      this.#roundBeganAt = now;
    }
    let url = this.#peerQueue.shift();
    while (url !== undefined && !this.has(url)) url = this.#peerQueue.shift();
    return url;
  }

  #nextOfAll(): string | undefined {
    if (this.#queue.length === 0) this.#queue = this.urls;
    let url = this.#queue.shift();
    while (url !== undefined && this.#addresses.get(url)?.isOther !== false) {
      url = this.#queue.shift();
    }
    return url;
  }

  /** @param isOther this node itself answered, or a node known under another address */
  onAnswer(url: string, isOther: boolean): void {
    const address = this.#addresses.get(url);
    if (address !== undefined) Object.assign(address, { isOther, vain: 0 });
  }

  onMiss(url: string): void {
    // If the node has died, it may live on under another of its addresses.
    for (const other of this.#addresses.values()) other.isOther = false;
    const address = this.#addresses.get(url);
    if (address !== undefined && ++address.vain >= MAX_VAIN && !address.isSeed) {
      this.#addresses.delete(url);
      this.#new.delete(url);
    }
  }

  #add(url: string, isSeed: boolean): void {
    this.#addresses.set(url, { isSeed, vain: 0, isOther: false });
    this.#new.add(url);
  }
}
