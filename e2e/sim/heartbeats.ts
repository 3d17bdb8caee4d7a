/**
 * Heartbeats in virtual time: each node contacts all nodes that it knows, in turn, twice a second
 * (NSDI 4.2).
 */

import type { SimNode } from './node.ts';
import type { MeasuredView } from './views.ts';
import type { World } from './world.ts';

const INTERVAL_MS = 500;
const TIMEOUT_MS = 2000;

/**
 * Sends a node's heartbeats until `until` returns true. All nodes learn of a new one within one
 * round.
 */
export function beat(world: World, node: SimNode, until: () => boolean): void {
  const { clock, random } = world.sim;
  const view = node.view as MeasuredView;
  let turn = Math.floor(random() * world.nodes.length);
  const next = () => {
    world.sim.quiet();
    if (until() || node.state !== 'up') return;
    clock.in(INTERVAL_MS, next);
    turn = (turn + 1) % world.nodes.length;
    const to = world.nodes[turn] as SimNode;
    if (to === node) return;
    const answered = world.isConnected(node, to) && world.reaches(to, node);
    clock.in(answered ? 2 * world.delayMs(node, to) : TIMEOUT_MS, () => {
      world.sim.quiet();
      if (answered) view.hear(to, (to.view as MeasuredView).sees(clock.now), random);
      else view.miss(to.name);
      view.select(clock.now);
    });
  };
  clock.in(INTERVAL_MS * random(), next);
}
