/**
 * Networks too large for every node to contact every other: machines share sites (NSDI 4.3 has
 * 15,000 in 2,500). Each node contacts the nodes of the nearest sites and chooses peers among them
 * as edges do. Beyond its peers it knows as many nodes as edges remember, and which: the nearest
 * thousand, and a random sample of the others.
 */

import { type Millis, seededRandom } from '@millrace/shared/base/clock';
import { rank, score } from '@millrace/shared/cdn/routing/hrw';
import type { Peer } from '@millrace/shared/cdn/routing/peer';
import { MAX_PEERS, selectPeers } from '@millrace/shared/cdn/routing/peer-set';
import { MAX_NEAR, MAX_NODES } from '@millrace/shared/cdn/routing/peer-table';
import { build, MAX_CHOICES, type NetworkOptions, SETTLED_SHARE } from './network.ts';
import type { SimNode } from './node.ts';
import { heartbeatMs, type Place, rttMs } from './places.ts';
import { type Acquaintance, GivenView } from './views.ts';
import type { World } from './world.ts';

const PER_SITE = 6;
/** Number of nearest nodes that a node contacts; it chooses its peers among them. */
const ASKED = 280;
/** Best nodes for a chunk that views are asked about. */
const BEST = 64;
/** Number of different values of a score. */
const SCORES = 2 ** 53;

export interface LargeOptions extends NetworkOptions {
  /**
   * False: nodes choose the nearest nodes, as in the papers, however many others use these already.
   */
  readonly passOver?: boolean;
}

/**
 * Builds a world in which each node has its peers, after one heartbeat to each, and no line is
 * broken.
 */
export function buildLarge(options: LargeOptions): World {
  const world = build({ perSite: PER_SITE, ...options });
  const sites = new Map<Place, SimNode[]>();
  for (const node of world.nodes) {
    const site = sites.get(node.place);
    if (site === undefined) sites.set(node.place, [node]);
    else site.push(node);
  }
  const peers = new Map(world.nodes.map((node) => [node, asPeer(node)]));
  const choosers: Chooser[] = [];
  for (const [place, residents] of sites) {
    const near = nearestNodes(place, sites, MAX_NEAR);
    for (const node of residents) choosers.push(new Chooser(node, near, peers));
  }
  choosePeers(choosers, world, options.passOver ?? true);
  const best = ranking(world);
  for (const { node, members, near } of choosers) {
    const nodes = [node, ...members.map(({ name }) => world.byName(name))];
    node.view = new GivenView(nodes, acquaintance(node, near, best));
  }
  return world;
}

/** Returns a function that ranks all nodes for a chunk. */
function ranking(world: World): (key: string) => readonly SimNode[] {
  const ranked = new Map<string, readonly SimNode[]>();
  return (key) => {
    let best = ranked.get(key);
    if (best === undefined) {
      best = rank(key, world.nodes, BEST);
      ranked.set(key, best);
    }
    return best;
  };
}

/** Makes the nodes that a node knows: near ones, and a sample in its own random order. */
function acquaintance(
  node: SimNode,
  near: readonly SimNode[],
  best: Acquaintance['best'],
): Acquaintance {
  const { world, place, seed } = node;
  const farthest = near.at(-1) ?? node;
  const radius = rttMs(place, farthest.place);
  const others = Math.max(1, world.nodes.length - near.length);
  const bar = SCORES * Math.max(0, 1 - (MAX_NODES - MAX_NEAR) / others);
  return {
    best,
    knows(name) {
      const other = world.byName(name);
      return rttMs(place, other.place) <= radius || score(seed, other.seed) >= bar;
    },
    usersOf: (name) => [...world.use.usersOf(name)].map((user) => world.byName(user)),
  };
}

function nearestNodes(place: Place, sites: Map<Place, SimNode[]>, count: number): SimNode[] {
  const byDistance = [...sites]
    .map(([other, nodes]) => ({ nodes, rtt: rttMs(place, other) }))
    .sort((a, b) => a.rtt - b.rtt);
  const found: SimNode[] = [];
  for (const { nodes } of byDistance) {
    if (found.length >= count) break;
    found.push(...nodes);
  }
  return found;
}

/** A node that chooses its peers. */
class Chooser {
  readonly node: SimNode;
  readonly near: readonly SimNode[];
  readonly #asked: readonly Peer[];
  readonly #rtts: Float32Array;
  members: readonly Peer[] = [];

  /** @param peers one object per node, shared by all its users, as these are too many */
  constructor(node: SimNode, near: readonly SimNode[], peers: ReadonlyMap<SimNode, Peer>) {
    const { random } = node.world.sim;
    this.node = node;
    this.near = near;
    const asked = near
      .slice(0, ASKED)
      .filter((other) => other !== node)
      .map((to) => ({ to, rtt: heartbeatMs(node.place, to.place, random) }))
      .sort((a, b) => a.rtt - b.rtt); // once, as each choice sorts it again
    this.#asked = asked.map(({ to }) => peers.get(to) as Peer);
    this.#rtts = Float32Array.from(asked, ({ rtt }) => rtt);
  }

  /** Chooses the peers again. @returns the number of new peers */
  choose(isOpen: (peer: Peer) => boolean): number {
    // A full set only loses members that are no longer open.
    if (this.members.length === MAX_PEERS && this.members.every(isOpen)) return 0;
    for (let i = 0; i < this.#rtts.length; i++) {
      (this.#asked[i] as Peer).rtts[0] = this.#rtts[i] as Millis;
    }
    const before = new Set(this.members);
    const names = new Set(this.members.map(({ name }) => name));
    this.members = selectPeers(names, this.#asked, isOpen);
    return this.members.filter((peer) => !before.has(peer)).length;
  }
}

function choosePeers(choosers: readonly Chooser[], world: World, passOver: boolean): void {
  const { use } = world;
  // Uses a separate random source, so that the rest of the world does not depend on the choices.
  const order = shuffled(choosers, seededRandom(world.o.seed));
  for (let round = 0; round < MAX_CHOICES; round++) {
    let changes = 0;
    let places = 0;
    for (const chooser of order) {
      const { node } = chooser;
      const before = chooser.members;
      changes += chooser.choose((peer) => !passOver || use.isOpen(node, peer));
      places += chooser.members.length;
      if (chooser.members === before) continue;
      const sees = chooser.members.map(({ name, weight }) => [name, weight] as const);
      use.onTold(node, sees);
    }
    if (changes <= SETTLED_SHARE * places) return;
    if (!passOver) return;
  }
}

function asPeer({ name, seed, weight }: SimNode): Peer {
  return {
    ...{ name, seed, weight, url: name, load: 0, policy: 'open', publicUrl: undefined },
    ...{ draining: false, sees: [], rtts: [0], misses: 0, trusted: true },
    ...{ isolatedUntil: 0, heardAt: 0, toldAt: 0, lostAt: undefined },
  };
}

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const result = [...values];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}
