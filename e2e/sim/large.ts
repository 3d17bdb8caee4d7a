/**
 * Networks too large for every node to contact every other: machines share sites (NSDI 4.3 has
 * 15,000 in 2,500). Each node contacts the nodes of the nearest sites and chooses peers among them
 * as edges do. Beyond its peers it knows the nearest 2,000 nodes, as many as edges remember: in a
 * network of that size an operator has to name nearby seeds.
 */

import { type Millis, seededRandom } from '@millrace/shared/base/clock';
import { MAX_PEERS, selectPeers } from '@millrace/shared/cdn/routing/peer-set';
import { MAX_NODES, type Peer } from '@millrace/shared/cdn/routing/peer-table';
import { build, MAX_CHOICES, type NetworkOptions, SETTLED_SHARE } from './network.ts';
import type { SimNode } from './node.ts';
import { heartbeatMs, type Place, rttMs } from './places.ts';
import { GivenView } from './views.ts';
import type { World } from './world.ts';

const PER_SITE = 6;
/** Number of nearest nodes that a node contacts; it chooses its peers among them. */
const ASKED = 280;

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
    const known = nearestNodes(place, sites, MAX_NODES);
    for (const node of residents) choosers.push(new Chooser(node, known, peers));
  }
  choosePeers(choosers, world, options.passOver ?? true);
  for (const { node, members, known } of choosers) {
    node.view = new GivenView([node, ...members.map(({ name }) => world.byName(name))], known);
  }
  return world;
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
  readonly known: readonly SimNode[];
  readonly #asked: readonly Peer[];
  readonly #rtts: Float32Array;
  members: readonly Peer[] = [];

  /** @param peers one object per node, shared by all its users, as these are too many */
  constructor(node: SimNode, known: readonly SimNode[], peers: ReadonlyMap<SimNode, Peer>) {
    const { random } = node.world.sim;
    this.node = node;
    this.known = known;
    const asked = known
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
      const sees = chooser.members.map(({ name }) => name);
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
    ...{ isolatedUntil: 0, heardAt: 0 },
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
