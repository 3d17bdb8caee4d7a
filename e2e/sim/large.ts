/**
 * Networks too large for everybody to ask everybody: machines stand together at sites (NSDI 4.3 has
 * 15,000 in 2,500), each asks those of the nearest sites and chooses among them as edges do. What it
 * knows beyond its peers are the nearest 2,000, as many as edges remember: in a network of that size
 * an operator has to name seeds that are near.
 */

import { MAX_NODES } from '@millrace/shared/cdn/peer-table';
import { build, type NetworkOptions } from './network.ts';
import type { SimNode } from './node.ts';
import { type Place, rttMs } from './places.ts';
import { GivenView, MeasuredView } from './views.ts';
import type { World } from './world.ts';

const PER_SITE = 6;
/** Nodes that are asked; of these the peers are chosen. */
const ASKED = 160;

/** A world in which each node has its peers, by one heartbeat to each, and no lines are broken. */
export function buildLarge(options: NetworkOptions): World {
  const world = build({ perSite: PER_SITE, ...options });
  const sites = new Map<Place, SimNode[]>();
  for (const node of world.nodes) {
    const site = sites.get(node.place);
    if (site === undefined) sites.set(node.place, [node]);
    else site.push(node);
  }
  for (const [place, residents] of sites) {
    const known = nearestNodes(place, sites, MAX_NODES);
    for (const node of residents) node.view = viewOf(node, known, world);
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

function viewOf(node: SimNode, known: readonly SimNode[], world: World): GivenView {
  const measured = new MeasuredView(node, 'near');
  for (const other of known.slice(0, ASKED)) {
    if (other !== node) measured.hear(other, [], world.sim.random);
  }
  measured.select(0);
  const members = measured.members.map(({ name }) => world.byName(name));
  return new GivenView([node, ...members], known);
}
