/**
 * A simulated node's knowledge of the others: the real peer table and the real choice of peers,
 * fed with heartbeats over the simulated network.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { type Told, toldNodes } from '@millrace/shared/cdn/routing/heartbeat-turns';
import type { HrwNode } from '@millrace/shared/cdn/routing/hrw';
import type { Peer, PeerInfo } from '@millrace/shared/cdn/routing/peer';
import { selectPeers } from '@millrace/shared/cdn/routing/peer-set';
import { type Outcome, PeerTable } from '@millrace/shared/cdn/routing/peer-table';
import type { PeerUse } from '@millrace/shared/cdn/routing/peer-use';
import type { Hearsay, RouteNode, Rumours } from '@millrace/shared/cdn/routing/route';
import { heartbeatMs, type Place } from './places.ts';

/** The parts of a node's view that routing needs. */
export interface View {
  /** Returns the nodes that can be used now, this one first. */
  nodes(now: Millis): readonly RouteNode[];
  hearsay(now: Millis): readonly Hearsay<RouteNode>[];
  /** Returns nodes that are too far to be peers: all of them, or the best for a chunk. */
  far(now: Millis, key: string): readonly RouteNode[];
  /** Returns nodes that only others can reach: all of them, or the best for a chunk. */
  rumours(now: Millis, key: string): Rumours<RouteNode>;
  /** Returns nodes that this one has lost: all of them, or the best for a chunk. */
  lost(now: Millis, key: string): readonly HrwNode[];
  onForwardFailed(name: string, now: Millis): void;
  onLoad(name: string, load: number): void;
}

/** A node as its peers see it. */
export interface Member extends RouteNode {
  readonly place: Place;
}

/**
 * Choice of peers: `near` as edges choose (NSDI 4.2), or `all` reachable nodes, as within one
 * region or in the example of NSDI 5.3.
 */
export type Choice = 'near' | 'all';

/** A view that is measured by heartbeats. */
export class MeasuredView implements View {
  readonly table: PeerTable;
  readonly #self: Member;
  readonly #choice: Choice;
  /** Called with a node that is not trusted until its next heartbeat. */
  onUntrusted: (name: string) => void = () => {};
  #members: readonly Peer[] = [];
  #hearsay: readonly Hearsay<Peer>[] | undefined;
  #rumours: Rumours<Peer> | undefined;

  /**
   * @param use shared by all views: separate ones would each keep the reports of all nodes about
   * all
   */
  constructor(self: Member, choice: Choice, use: PeerUse) {
    this.#self = self;
    this.#choice = choice;
    this.table = new PeerTable({ name: self.name, org: undefined }, use);
  }

  get members(): readonly Peer[] {
    return this.#members;
  }

  nodes(now: Millis): RouteNode[] {
    return [this.#self, ...this.#members.filter((peer) => this.table.isUsable(peer, now))];
  }

  hearsay(now: Millis): readonly Hearsay<Peer>[] {
    this.#hearsay ??= this.table.hearsay(
      this.#members.filter((peer) => this.table.isUsable(peer, now)),
      now,
    );
    return this.#hearsay;
  }

  far(now: Millis): RouteNode[] {
    const members = new Set(this.#members);
    return [...this.table.peers].filter((p) => !members.has(p) && this.table.isUsable(p, now));
  }

  rumours(now: Millis): Rumours<Peer> {
    this.#rumours ??= this.table.rumours(now);
    return this.#rumours;
  }

  lost(now: Millis): Peer[] {
    return this.table.lost(now);
  }

  #forgetHearsay(): void {
    this.#hearsay = undefined;
    this.#rumours = undefined;
  }

  onForwardFailed(name: string, now: Millis): void {
    if (this.table.get(name)?.trusted !== true) return;
    this.table.onForwardFailed(name, now);
    this.#forgetHearsay();
    this.onUntrusted(name);
  }

  /** Draws the names of nodes that this node tells others. */
  told(random: Random, now: Millis): Told {
    const alive = [...this.table.peers].filter((peer) => this.table.isAlive(peer));
    const names = (peers: readonly Peer[]) => peers.map(({ name }) => name);
    const used = this.#members.filter((peer) => this.table.isUsable(peer, now));
    return toldNodes(names(used), names(alive), random);
  }

  onLoad(name: string, load: number): void {
    this.table.onLoad(name, load);
  }

  /** Handles the answer to a heartbeat. @param site of the node that answered */
  hear(peer: Member, sees: Sees, random: Random, now: Millis, site?: string): Outcome {
    const { name, load, weight, place } = peer;
    const info = { name, load, weight, site, ...sees, policy: 'open', draining: false } as const;
    const rtt = heartbeatMs(this.#self.place, place, random);
    const outcome = this.table.onAnswer(name, { ...info, publicUrl: undefined }, rtt, now);
    this.#forgetHearsay();
    return outcome;
  }

  /** @param sentAt when the unanswered heartbeat went out; undefined: the node refuses connections */
  miss(name: string, now: Millis, sentAt?: Millis): void {
    this.table.onMiss(name, now, sentAt);
    this.#forgetHearsay();
  }

  /** Chooses the peers again. */
  select(now: Millis): void {
    const usable = [...this.table.peers].filter(
      (peer) => peer.rtts.length > 0 && this.table.isUsable(peer, now),
    );
    this.#forgetHearsay();
    const current = new Set(this.#members.map(({ name }) => name));
    this.#members =
      this.#choice === 'all'
        ? usable
        : selectPeers(current, usable, (peer) => this.table.isOpen(peer));
  }

  /** Returns the nodes that this node can use, as it tells others. */
  sees(now: Millis): Sees {
    const usable = this.#members.filter((peer) => this.table.isUsable(peer, now));
    return {
      sees: usable.map((peer) => [peer.name, peer.weight]),
      heard: usable.map((peer) => this.table.heardAgo(peer, now)),
    };
  }
}

/** The nodes that a node can use, as it tells others. */
export type Sees = Pick<PeerInfo, 'sees' | 'heard'>;

/** Nodes that a node knows without being their peer, and what the others tell of each other. */
export interface Acquaintance {
  /** Returns the nodes that are best for a chunk, best first: enough for any question about it. */
  best(key: string): readonly RouteNode[];
  /** Returns true if the node knows the named one. */
  knows(name: string): boolean;
  /** Returns the nodes that use the named one. */
  usersOf(name: string): readonly RouteNode[];
}

const HERMIT: Acquaintance = { best: () => [], knows: () => false, usersOf: () => [] };

/** A view that is fixed from the beginning, for networks with too many heartbeats to simulate. */
export class GivenView implements View {
  readonly #nodes: { name: string; seed: RouteNode['seed']; weight: number; load: number }[];
  readonly #others: Acquaintance;
  readonly #distrusted = new Set<string>();

  /** @param nodes nodes to use, this one first */
  constructor(nodes: readonly RouteNode[], others = HERMIT) {
    this.#others = others;
    this.#nodes = nodes.map(({ name, seed, weight, load }) => ({ name, seed, weight, load }));
  }

  nodes(): readonly RouteNode[] {
    if (this.#distrusted.size === 0) return this.#nodes;
    return this.#nodes.filter(({ name }) => !this.#distrusted.has(name));
  }

  hearsay(): readonly Hearsay<RouteNode>[] {
    return [];
  }

  far(_now: Millis, key: string): readonly RouteNode[] {
    return this.#others.best(key).filter(({ name }) => this.#knows(name) && !this.#isNear(name));
  }

  rumours(_now: Millis, key: string): Rumours<RouteNode> {
    return {
      nodes: this.#others.best(key).filter(({ name }) => !this.#knows(name) && !this.#isNear(name)),
      through: (name) =>
        this.#others
          .usersOf(name)
          .filter(
            (user) => this.#knows(user.name) || this.#nodes.some((n) => n.name === user.name),
          ),
    };
  }

  lost(_now: Millis, key: string): readonly HrwNode[] {
    if (this.#distrusted.size === 0) return [];
    return this.#others.best(key).filter(({ name }) => this.#distrusted.has(name));
  }

  #knows(name: string): boolean {
    return !this.#distrusted.has(name) && this.#others.knows(name);
  }

  /** True for this node and its peers. */
  #isNear(name: string): boolean {
    return this.#nodes.some((node) => node.name === name);
  }

  onForwardFailed(name: string): void {
    this.#distrusted.add(name);
  }

  onLoad(name: string, load: number): void {
    const node = this.#nodes.find((candidate) => candidate.name === name);
    if (node !== undefined) node.load = load;
  }
}
