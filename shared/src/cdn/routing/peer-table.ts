/**
 * A node's knowledge of the others (NSDI 4.1, 4.2): round-trip times of the last heartbeats,
 * whether they answer, what they report about themselves. A node learns everything by asking; nodes
 * do not negotiate.
 */

import type { Millis } from '../../base/clock.ts';
import { type Hash64, type HrwNode, hashText, score } from './hrw.ts';
import { minRtt, newPeer, type Peer, type PeerInfo, type PeerPolicy } from './peer.ts';
import { PeerUse } from './peer-use.ts';
import type { Hearsay, Rumours } from './route.ts';

/** Heartbeats remembered per node (NSDI 4.2). */
export const SAMPLES = 32;
/** Unanswered heartbeats in a row after which a node is not a candidate any more. */
export const MAX_MISSES = 3;
/** Shortest and longest silence after which a node counts as hanging. */
export const MIN_SILENCE_MS = 2000;
export const MAX_SILENCE_MS = 10_000;
/** Longest silence of a node, in multiples of the duration of its slowest recent heartbeat. */
const PATIENCE = 4;
/** Latest heartbeats that tell how busy a node is. */
const RECENT = 8;
/** Time for which a node that sent damaged chunks gets no requests. */
export const ISOLATION_MS = 10 * 60_000;
/** Most nodes known at a time, whatever strangers and mistakes make a node remember. */
export const MAX_NODES = 2000;
/** Of a full table, how many nodes stay for being near; the others are a random sample. */
export const MAX_NEAR = MAX_NODES / 2;

/**
 * Most nodes of which rumours tell. All are ranked for a chunk before the origin is asked, and nodes
 * that make names up could tell of 120 each.
 */
export const MAX_RUMOURED_NODES = 20_000;

/**
 * Time in which nodes notice that a node is lost: `MAX_MISSES` heartbeats of a network of ordinary
 * size. It bounds the word of nodes of earlier versions, which do not say when they heard others.
 */
export const NOTICING_MS = 30_000;

/**
 * Effect of a node's answer on the table: `self` for this node under any address, `other` if a known
 * node answered at another address (the known address stays), `full` if the table is full of nodes
 * that have more right to be in it.
 */
export type Outcome = 'peer' | 'self' | 'other' | 'full';

export class PeerTable {
  readonly #own: { readonly name: string; readonly org: string | undefined; seed: Hash64 };
  readonly #peers = new Map<string, Peer>();
  readonly #use: PeerUse;

  /**
   * @param own this node's name, which is never a peer's, and its organisation
   * @param use use of nodes by others, as far as reported; simulated nodes can share it
   */
  constructor(
    own: { readonly name: string; readonly org: string | undefined },
    use: PeerUse = new PeerUse(),
  ) {
    this.#own = { ...own, seed: hashText(own.name) };
    this.#use = use;
  }

  /** All nodes known by name, dead ones included. */
  get peers(): Iterable<Peer> {
    return this.#peers.values();
  }

  get(name: string): Peer | undefined {
    return this.#peers.get(name);
  }

  /** Returns the nodes that have a depot of that name: two by chance, or with a copied folder. */
  withDepot(depot: string): Peer[] {
    const found: Peer[] = [];
    for (const peer of this.#peers.values()) if (peer.depot === depot) found.push(peer);
    return found;
  }

  /** Returns the nodes that keep copies of exNodes of the depot of that name. */
  keepsOf(depot: string): Peer[] {
    const found: Peer[] = [];
    for (const peer of this.#peers.values()) if (peer.keepsOf?.includes(depot)) found.push(peer);
    return found;
  }

  /**
   * A node has answered a heartbeat.
   *
   * @param url address at which it was reached
   * @param rtt duration of the heartbeat, which ended `now`
   */
  onAnswer(url: string, info: PeerInfo, rtt: Millis, now: Millis): Outcome {
    // For another node known at this address it was an unanswered heartbeat: a node that was
    // restarted may have another name now.
    this.#countMiss(url, now, info.name);
    if (info.name === this.#own.name) return 'self';
    let peer = this.#peers.get(info.name);
    if (peer === undefined) {
      const isFull = this.#peers.size >= MAX_NODES;
      if (isFull && !this.#forgetDead() && !this.#forgetFor(info.name, rtt)) return 'full';
      peer = newPeer(url, info);
      this.#peers.set(info.name, peer);
    } else if (peer.url !== url) {
      // One node under two addresses, or a node that has moved.
      if (this.isAlive(peer)) return 'other';
      peer.url = url;
    }
    const { load, weight, policy, publicUrl, publicAddresses, draining, sees } = info;
    const { serves, room, depot, depotRoom, keepsOf, org, heard, site } = info;
    Object.assign(peer, { load, weight, policy, publicUrl, publicAddresses, draining, sees });
    Object.assign(peer, { serves, room, depot, depotRoom, keepsOf, org, heard, site });
    peer.misses = 0;
    peer.trusted = true;
    peer.toldAt = now;
    peer.lostAt = undefined;
    this.#use.onTold(peer, sees);
    peer.rtts.push(rtt);
    if (peer.rtts.length > SAMPLES) peer.rtts.shift();
    return 'peer';
  }

  /**
   * A heartbeat to an address had no answer, or none for a long time. A node that has sent
   * something else since is busy, not dead.
   *
   * @param sentAt when the heartbeat went out; undefined if the address refuses connections
   */
  onMiss(url: string, now: Millis, sentAt?: Millis): void {
    this.#countMiss(url, now, undefined, sentAt);
  }

  /** A node has sent something in answer to a request. */
  onHeard(name: string, now: Millis): void {
    const peer = this.#peers.get(name);
    if (peer !== undefined) peer.heardAt = now;
  }

  /** A forwarded request failed: the node is not a candidate until its next good heartbeat. */
  onForwardFailed(name: string, now: Millis): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    peer.trusted = false;
    peer.lostAt ??= now;
  }

  /** A node sent a chunk that does not match its digest. */
  onDamaged(name: string, now: Millis): void {
    const peer = this.#peers.get(name);
    if (peer !== undefined) peer.isolatedUntil = now + ISOLATION_MS;
  }

  /** A forwarded request brought the node's present load. */
  onLoad(name: string, load: number): void {
    const peer = this.#peers.get(name);
    if (peer !== undefined) peer.load = load;
  }

  /**
   * Returns how long a node may be silent before it counts as hanging. Busy nodes, which answer
   * heartbeats late as well, get more time: passing them over makes the origin send what they have.
   *
   * @param name undefined: any node
   */
  silenceMs(name?: string): Millis {
    const rtts = name === undefined ? [] : (this.#peers.get(name)?.rtts ?? []);
    const slowest = Math.max(0, ...rtts.slice(-RECENT));
    return Math.min(MAX_SILENCE_MS, Math.max(MIN_SILENCE_MS, PATIENCE * slowest));
  }

  /** Returns how long ago a node was heard, by any answer. */
  heardAgo({ heardAt, toldAt }: Peer, now: Millis): Millis {
    return now - Math.max(heardAt, toldAt);
  }

  /** Returns true while the node answers heartbeats. */
  isAlive(peer: Peer): boolean {
    return peer.misses < MAX_MISSES;
  }

  /** Returns true unless enough others use the node already. */
  isOpen(peer: Peer): boolean {
    return this.#use.isOpen(this.#own, peer);
  }

  /** Returns true while requests may be forwarded to the node. */
  isUsable(peer: Peer, now: Millis): boolean {
    return this.isAlive(peer) && peer.trusted && this.#mayBeUsed(peer, now);
  }

  /**
   * Lists the nodes that get no requests after a failed one, but have not missed enough heartbeats
   * to be dead: most were busy, and others may go on using them.
   */
  lost(now: Millis): Peer[] {
    return [...this.#peers.values()].filter(
      (peer) => !peer.trusted && this.isAlive(peer) && this.#mayBeUsed(peer, now),
    );
  }

  #countMiss(
    url: string,
    now: Millis,
    answering?: string,
    sentAt = Number.POSITIVE_INFINITY,
  ): void {
    for (const peer of this.#peers.values()) {
      const missed = peer.url === url && peer.name !== answering && peer.heardAt < sentAt;
      if (!missed || ++peer.misses !== MAX_MISSES) continue;
      peer.lostAt ??= now;
      this.#use.forget(peer.name);
    }
  }

  /** Makes room for a node. @returns false if all known nodes are alive */
  #forgetDead(): boolean {
    for (const peer of this.#peers.values()) {
      if (!this.isAlive(peer)) return this.#forget(peer);
    }
    return false;
  }

  /**
   * Makes room in a table full of live nodes, for a node that is near or belongs to the sample of
   * the others. The sample is uniform over all nodes ever met, and stable: each node has a position
   * in this node's own random order (by hash), and the first ones stay.
   *
   * @returns false if the newcomer has no place
   */
  #forgetFor(newcomer: string, rtt: Millis): boolean {
    const peers = [...this.#peers.values()];
    // Thousands of newcomers come in a network that large: numbers alone are sorted.
    const rtts = Float64Array.from(peers, minRtt);
    const farthestNear = rtts.toSorted()[MAX_NEAR - 1] as Millis;
    let ties = MAX_NEAR - rtts.filter((other) => other < farthestNear).length;
    const position = (seed: Hash64) => score(this.#own.seed, seed);
    let last: Peer | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [i, peer] of peers.entries()) {
      const other = rtts[i] as Millis;
      if (other < farthestNear || (other === farthestNear && ties-- > 0)) continue;
      const value = position(peer.seed);
      if (value < least) [last, least] = [peer, value];
    }
    const stays = rtt >= farthestNear && position(hashText(newcomer)) < least;
    return last !== undefined && !stays && this.#forget(last);
  }

  #forget({ name }: Peer): boolean {
    this.#use.forget(name);
    return this.#peers.delete(name);
  }

  /**
   * Nodes that this one cannot use at the moment, near or far, known or not, but nodes that it can
   * use say that they can.
   */
  rumours(now: Millis): Rumours<Peer> {
    const nodes: HrwNode[] = [];
    for (const node of this.#use.used) {
      if (nodes.length >= MAX_RUMOURED_NODES) break;
      if (this.#isOutOfReach(node.name, now)) nodes.push(node);
    }
    return { nodes, through: (name) => this.seenBy(name, now) };
  }

  /** Lists the usable nodes that can reach a node, as far as their word counts. */
  seenBy(name: string, now: Millis): Peer[] {
    return [...this.#use.usersOf(name)]
      .flatMap((user) => this.#peers.get(user) ?? [])
      .filter((user) => this.isUsable(user, now) && this.#counts(user, name));
  }

  /**
   * Nodes that this one cannot reach at the moment, but some of the members say that they can.
   * Nodes that it may not or should not use are left out: the detour is for broken lines only.
   */
  hearsay<P extends Peer>(members: readonly P[], now: Millis): Hearsay<P>[] {
    const through = new Map<string, P[]>();
    const weights = new Map<string, number>();
    for (const member of members) {
      for (const [name, weight] of member.sees) {
        if (!this.#isOutOfReach(name, now) || !this.#counts(member, name)) continue;
        const by = through.get(name);
        if (by === undefined) through.set(name, [member]);
        else by.push(member);
        weights.set(name, weight);
      }
    }
    return [...through].map(([name, by]) => ({
      name,
      seed: this.#peers.get(name)?.seed ?? hashText(name),
      weight: weights.get(name) as number,
      load: Math.min(...by.map(({ load }) => load)),
      through: by,
    }));
  }

  /**
   * Returns true if a node's word that it can reach another one counts. All nodes lose a node that
   * leaves, each at a time of its own, and a request sent around by the old word of one makes
   * another node ask the origin. So of a node that this one has lost, only the word of those counts
   * that have heard it since.
   */
  #counts(teller: Peer, name: string): boolean {
    const lostAt = this.#peers.get(name)?.lostAt;
    if (lostAt === undefined) return true;
    const { heard, sees, rtts, toldAt } = teller;
    if (heard === undefined) return toldAt >= lostAt + NOTICING_MS;
    const ago = heard[sees.findIndex(([seen]) => seen === name)] ?? Number.POSITIVE_INFINITY;
    // It may have written its answer as soon as it was asked.
    return toldAt - (rtts.at(-1) ?? 0) - ago > lostAt;
  }

  #isOutOfReach(name: string, now: Millis): boolean {
    if (name === this.#own.name) return false;
    const peer = this.#peers.get(name);
    if (peer === undefined) return true;
    return this.#mayBeUsed(peer, now) && !(this.isAlive(peer) && peer.trusted);
  }

  /** Returns true if requests to the node would be right, whether it can be reached or not. */
  #mayBeUsed(peer: Peer, now: Millis): boolean {
    return !peer.draining && now >= peer.isolatedUntil && this.#allows(peer.policy);
  }

  /** Returns true if a node's policy lets this one use it. */
  #allows(policy: PeerPolicy): boolean {
    const { org } = this.#own;
    return policy === 'open' || (org !== undefined && policy === `org:${org}`);
  }
}
