/** Eight nodes and questions about the route of a request, for tests of `decideRoute`. */

import { seededRandom } from '../src/base/clock.ts';
import { hashText, rank } from '../src/cdn/routing/hrw.ts';
import {
  decideRoute,
  MAX_HOPS,
  type Route,
  type RouteNode,
  type RouteQuestion,
} from '../src/cdn/routing/route.ts';

/** Key of the chunk that the questions are about. */
export const KEY = 'https://example.com/file.iso,start=0,end=999999';

export const node = (name: string, load = 0, weight = 1): RouteNode => ({
  name,
  seed: hashText(name),
  weight,
  load,
});
export const NODES = Array.from({ length: 8 }, (_, i) => node(`edge-${i}`));
/** All nodes, the one most responsible for the chunk first. */
export const RANKED = rank(KEY, NODES, NODES.length);
/** Returns the node at a place of `RANKED`. */
export const at = (place: number) => RANKED[place] as RouteNode;

/** Asks for the route from the least responsible node, unless the question says otherwise. */
export function ask(part: Partial<RouteQuestion<RouteNode>>): Route<RouteNode> {
  return decideRoute({
    key: KEY,
    self: at(7),
    nodes: NODES,
    hearsay: [],
    hops: 0,
    maxHops: MAX_HOPS,
    replicas: 3,
    avoid: new Set(),
    random: seededRandom(1),
    ...part,
  });
}
