/**
 * The addresses at which nodes may be found: which of them is asked next, and which are forgotten
 * (NSDI 4.2, where all nodes are asked in turn).
 *
 * In a small network all addresses are asked in turn. In a large one such a round would take
 * minutes, so there are two beats: each peer is asked once a minute, as in the paper, where nodes
 * have at most 120 peers; all other addresses share the turns that are left, and a slow beat of
 * their own. A peer that did not answer is asked again soon, so that a dead one is noticed within
 * little more than a minute, however many nodes there are.
 *
 * Of a site (`site.ts`) one node is asked in a round, the one that was asked longest ago; rounds over
 * peers are shorter by that. In networks of thousands, addresses that a near node names as its own
 * peers are asked soon, because the peers of near nodes are near. All others come in the slow beat
 * once as many have been asked as a node remembers.
 */

import type { Millis } from '../../base/clock.ts';
import { MAX_PEERS } from './peer-set.ts';
import { MAX_NODES } from './peer-table.ts';

/**
 * Most addresses remembered: any node may name more. All of a network of 15,000 nodes (NSDI 4.3):
 * with fewer, a node would never ask most of those near it.
 */
export const MAX_ADDRESSES = 20_000;
/**
 * Unanswered requests in a row after which an address that only other nodes have named is
 * forgotten.
 */
export const MAX_VAIN = 20;
/** The same for a full book, in which the address takes the place of one that may answer. */
export const MAX_VAIN_IF_FULL = 3;

/** Length of a round over all peers: two heartbeats a second for `MAX_PEERS` peers (NSDI 4.2). */
export const PEER_ROUND_MS = 60_000;
/** Shortest round over all peers, if they are at few sites. */
export const MIN_ROUND_MS = 10_000;
/** Time after which a peer that did not answer is asked again. */
export const SUSPECT_PAUSE_MS = 4000;
interface Address {
  /** Given by the operator: asked for ever, whether it answers or not. */
  isSeed: boolean;
  vain: number;
  /** This node itself answered there, or a node known under another address. */
  isOther: boolean;
  /** Site of the node that answered there. */
  site: string | undefined;
  /** Number of its last question among all questions; 0: never asked. */
  asked: number;
  /** True if the node that answered there is one of those that this node remembers. */
  isKept: boolean;
}

/** A peer whose address has been forgotten. */
const NOWHERE: Address = newAddress(false);

export class AddressBook {
  readonly #ownSite: string | undefined;
  readonly #addresses = new Map<string, Address>();
  #queue: string[] = [];
  /** In networks with more nodes than a node remembers: the addresses of all others. */
  #rest: string[] = [];
  #isRestsTurn = false;
  /** Peers still to be asked in this round. */
  #peerQueue: string[] = [];
  #roundEndsAt = Number.NEGATIVE_INFINITY;
  /** Addresses that have never been asked, oldest first. */
  readonly #new = new Set<string>();
  /** Those of them that a near node has named as near to it. */
  readonly #newNear = new Set<string>();
  /** Addresses that were asked at least once, and all questions. */
  #met = 0;
  #questions = 0;
  /** Peers that did not answer, and when each is asked again, earliest first. */
  readonly #suspects = new Map<string, Millis>();
  /** Nodes that another one of their site does not speak for. */
  readonly #doubted = new Set<string>();
  /** Addresses without an answer to their last `MAX_VAIN_IF_FULL` questions, seeds among them. */
  readonly #vain = new Set<string>();

  /** @param ownSite site of this node, whose nodes are all asked */
  constructor(ownSite?: string) {
    this.#ownSite = ownSite;
  }

  get urls(): string[] {
    return [...this.#addresses.keys()];
  }

  has(url: string): boolean {
    return this.#addresses.has(url);
  }

  /**
   * Adds an address that another node has named.
   *
   * @param isNear true if a near node has named it as one of its peers
   * @returns false if it is known, or there is no room
   */
  hear(url: string, isNear = false): boolean {
    if (this.has(url)) return false;
    if (this.#addresses.size >= MAX_ADDRESSES && !this.#forgetVain()) return false;
    this.#add(url, false);
    if (isNear) this.#newNear.add(url);
    return true;
  }

  #forgetVain(): boolean {
    for (const url of this.#vain) {
      if (this.#addresses.get(url)?.isSeed === false) return this.#forget(url);
    }
    return false;
  }

  #forget(url: string): boolean {
    for (const set of [this.#new, this.#newNear, this.#vain]) set.delete(url);
    return this.#addresses.delete(url);
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
    const suspect = this.#nextSuspect(now) ?? this.#nextDoubted();
    if (suspect !== undefined) return suspect;
    return (this.#isLarge ? this.#nextPeer(now, peers) : undefined) ?? this.#nextOfAll();
  }

  /**
   * The address to ask in the slow beat, which peers have no part in however many of them wait;
   * undefined in networks that have one beat only.
   */
  nextStranger(): string | undefined {
    if (!this.#isLarge) return undefined;
    this.#isRestsTurn = this.#isHuge && !this.#isRestsTurn;
    return (this.#isRestsTurn ? this.#nextOfRest() : undefined) ?? this.#nextOfAll();
  }

  /** An address that has never been asked and need not wait for the slow beat, if there is one. */
  nextNew(): string | undefined {
    const [near] = this.#newNear;
    if (near !== undefined) return near;
    const [url] = this.#new;
    return this.isSoon(url) ? url : undefined;
  }

  /** Returns true if a new address need not wait for the slow beat. */
  isSoon(url: string | undefined): boolean {
    return url !== undefined && (this.#met < MAX_NODES || this.#newNear.has(url));
  }

  /** An address is asked now. */
  onAsked(url: string): void {
    this.#newNear.delete(url);
    this.#doubted.delete(url);
    if (this.#new.delete(url)) this.#met++;
    const address = this.#addresses.get(url);
    if (address !== undefined) address.asked = ++this.#questions;
  }

  /** Has a node asked soon that another one of its site does not speak for. */
  doubt(url: string): void {
    if (this.has(url) && this.#doubted.size < MAX_PEERS) this.#doubted.add(url);
  }

  #nextDoubted(): string | undefined {
    for (const url of this.#doubted) {
      this.#doubted.delete(url);
      if (this.has(url)) return url;
    }
    return undefined;
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

  /** True if there are more addresses than nodes that this node remembers. */
  get #isHuge(): boolean {
    return this.#addresses.size > MAX_NODES;
  }

  #nextSuspect(now: Millis): string | undefined {
    const [first] = this.#suspects;
    if (first === undefined || first[1] > now) return undefined;
    this.#suspects.delete(first[0]);
    return this.has(first[0]) ? first[0] : this.#nextSuspect(now);
  }

  #nextPeer(now: Millis, peers: () => readonly string[]): string | undefined {
    if (this.#peerQueue.length === 0 && now >= this.#roundEndsAt) {
      const all = peers();
      this.#peerQueue = this.#oneOfEachSite(all);
      const share = this.#peerQueue.length / Math.max(1, all.length);
      this.#roundEndsAt = now + Math.max(MIN_ROUND_MS, share * PEER_ROUND_MS);
    }
    let url = this.#peerQueue.shift();
    while (url !== undefined && !this.has(url)) url = this.#peerQueue.shift();
    return url;
  }

  /** The next address in turn: of all, or of the nodes that this node remembers and seeds. */
  #nextOfAll(): string | undefined {
    if (this.#queue.length === 0) {
      this.#queue = this.#oneOfEachSite(this.urls.filter((url) => this.#isInTurn(url)));
    }
    return this.#shift(this.#queue);
  }

  #nextOfRest(): string | undefined {
    if (this.#rest.length === 0) this.#rest = this.urls.filter((url) => !this.#isInTurn(url));
    return this.#shift(this.#rest);
  }

  #isInTurn(url: string): boolean {
    const { isKept, isSeed } = this.#addresses.get(url) ?? NOWHERE;
    return !this.#isHuge || isKept || isSeed;
  }

  #shift(queue: string[]): string | undefined {
    let url = queue.shift();
    while (url !== undefined && this.#addresses.get(url)?.isOther !== false) url = queue.shift();
    return url;
  }

  /** Picks of each other site the address that was asked longest ago, and all other addresses. */
  #oneOfEachSite(urls: readonly string[]): string[] {
    const bySite = new Map<string, string>();
    for (const url of urls) {
      const { site, isOther, asked } = this.#addresses.get(url) ?? NOWHERE;
      // A site never has the name of an address: it may not have a colon.
      const key = site === undefined || site === this.#ownSite || isOther ? url : site;
      const chosen = bySite.get(key);
      if (chosen === undefined || asked < (this.#addresses.get(chosen)?.asked ?? 0)) {
        bySite.set(key, url);
      }
    }
    return [...bySite.values()];
  }

  /**
   * @param isOther this node itself answered, or a node known under another address
   * @param site of the node that answered
   * @param isKept false if this node remembers others instead
   */
  onAnswer(url: string, isOther: boolean, site?: string, isKept = true): void {
    const address = this.#addresses.get(url);
    if (address !== undefined) Object.assign(address, { isOther, site, isKept, vain: 0 });
    this.#vain.delete(url);
  }

  /**
   * A question was not answered.
   *
   * @returns another address of the same site, to be asked in place of this one; undefined if none
   *   is left, or this one was known to be silent
   */
  onMiss(url: string): string | undefined {
    const address = this.#addresses.get(url);
    // If the node has died, it may live on under another of its addresses.
    for (const other of this.#addresses.values()) other.isOther = false;
    if (address === undefined) return undefined;
    address.vain++;
    if (address.vain >= MAX_VAIN && !address.isSeed) this.#forget(url);
    else if (address.vain >= MAX_VAIN_IF_FULL) this.#vain.add(url);
    return address.vain === 1 ? this.#standIn(address) : undefined;
  }

  #standIn({ site }: Address): string | undefined {
    if (site === undefined || site === this.#ownSite) return undefined;
    let [found, longestAgo]: [string | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
    for (const [url, { site: other, vain, asked }] of this.#addresses) {
      if (other !== site || vain > 0 || asked >= longestAgo) continue;
      [found, longestAgo] = [url, asked];
    }
    return found;
  }

  #add(url: string, isSeed: boolean): void {
    this.#addresses.set(url, newAddress(isSeed));
    this.#new.add(url);
  }
}

function newAddress(isSeed: boolean): Address {
  return { isSeed, vain: 0, isOther: false, site: undefined, asked: 0, isKept: false };
}
