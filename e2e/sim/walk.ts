/**
 * The ends of requests if all nodes request a file at the same moment and nothing is cached
 * anywhere: the real routing leads each request from node to node until one turns to the origin. No
 * time passes, so this shows the cost of differing views alone, and is the worst case of timing.
 */

import { INGRESS, type Path, type SimNode } from './node.ts';
import type { World } from './world.ts';

export interface Walked {
  /** Mean number of nodes that fetch a chunk from the origin: copies of the file. */
  readonly copies: number;
  /** Most and fewest nodes that fetch a chunk from the origin, over the chunks. */
  readonly most: number;
  readonly fewest: number;
  /** Share of requests by number of forwards, from 0. */
  readonly hops: readonly number[];
}

const NOBODY: ReadonlySet<string> = new Set();

/** Follows the requests for all chunks. @param asking nodes whose clients ask; default: all */
export function walk(world: World, asking: readonly SimNode[] = world.nodes): Walked {
  const hops: number[] = [];
  const counts: number[] = [];
  for (let chunk = 0; chunk < world.o.chunks; chunk++) {
    const owners = new Set<string>();
    for (const from of asking) {
      let node = from;
      let path: Path = INGRESS;
      for (;;) {
        const route = node.route(chunk, path, 0, NOBODY);
        // Nobody holds anything.
        if (route.to === 'origin' || route.ifHeld) break;
        path = { hops: path.hops + 1, salt: '', via: [...path.via, node.name], avoid: [] };
        node = world.byName(route.peer.name);
      }
      owners.add(node.name);
      hops[path.hops] = (hops[path.hops] ?? 0) + 1;
    }
    counts.push(owners.size);
  }
  const total = hops.reduce((sum, n) => sum + n, 0);
  return {
    copies: counts.reduce((sum, n) => sum + n, 0) / counts.length,
    most: Math.max(...counts),
    fewest: Math.min(...counts),
    hops: Array.from(hops, (n) => (n ?? 0) / total),
  };
}
