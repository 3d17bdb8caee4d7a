/** Networks for experiments: nodes on the map, with links, and with views of each other. */

import type { Millis } from '@millrace/shared/base/clock';
import { BUFFER_BYTES_PER_CLIENT, DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { MAX_HOPS } from '@millrace/shared/cdn/routing/route';
import { PATIENCE, type SimNode } from './node.ts';
import { machines, type Place } from './places.ts';
import { type Choice, MeasuredView } from './views.ts';
import { World, type WorldOptions } from './world.ts';

/** The origin stands in the largest continent, as NSDI 6's did. */
const ORIGIN: Place = { x: 20, y: 10, accessMs: 2 };
/** Machines per site: PlanetLab had two or three. */
const PER_SITE = 2;

/** Most rounds in which nodes choose their peers, and the share of changes that ends the rounds. */
export const MAX_CHOICES = 24;
export const SETTLED_SHARE = 0.03;

export interface NetworkOptions extends Partial<WorldOptions> {
  readonly seed: number;
  readonly nodes: number;
  readonly perSite?: number;
  /** Least and most rate of nodes' access links, Mbit/s; most links are slow. */
  readonly mbit?: readonly [least: number, most: number];
}

/** Builds a world of nodes that do not know each other yet. */
export function build(options: NetworkOptions): World {
  const world = new World({
    chunks: 96,
    chunkBytes: DEFAULT_CHUNK_BYTES,
    bufferBytes: BUFFER_BYTES_PER_CLIENT,
    maxHops: MAX_HOPS,
    farHop: true,
    originMbit: 100,
    originPlace: ORIGIN,
    pieceBytes: 128 * 1024,
    interimMs: 100,
    patience: PATIENCE,
    ...options,
  });
  const { random } = world.sim;
  const [least, most] = options.mbit ?? [10, 100];
  for (const place of machines(options.nodes, options.perSite ?? PER_SITE, random)) {
    world.add(place, least * (most / least) ** random());
  }
  return world;
}

export interface MeetingOptions {
  readonly choice: Choice;
  /** Heartbeats to each node before the choice of peers; one more follows the choice. */
  readonly rounds?: number;
  /** Returns true if one node's messages reach another. */
  readonly reaches?: (from: SimNode, to: SimNode) => boolean;
}

/** Lets all nodes of a world meet: heartbeats to every node, then the choice of peers. */
export function meet(
  world: World,
  { choice, rounds = 4, reaches }: MeetingOptions,
): MeasuredView[] {
  const { nodes, sim } = world;
  const views = nodes.map((node) => {
    const view = new MeasuredView(node, choice, world.use);
    node.view = view;
    view.onUntrusted = (name) => ping(node, view, world.byName(name));
    return view;
  });
  const told = new Map<string, ReturnType<MeasuredView['sees']>>();
  for (let round = 0; round <= rounds; round++) {
    for (const [i, view] of views.entries()) {
      const from = nodes[i] as SimNode;
      for (const to of nodes) {
        if (to === from || reaches?.(from, to) === false) continue;
        view.hear(to, told.get(to.name) ?? { sees: [] }, sim.random, sim.now);
      }
    }
    // In the last round the nodes learn the others' choices.
    if (round + 1 < rounds) continue;
    settle(world, views);
    for (const [i, view] of views.entries()) {
      view.select(sim.now);
      told.set((nodes[i] as SimNode).name, view.sees(sim.now));
    }
  }
  return views;
}

/** Asks a node after a failure, as edges do: it may have been busy. */
function ping(from: SimNode, view: MeasuredView, to: SimNode): void {
  const { world } = from;
  if (!world.isConnected(from, to) || !world.reaches(to, from)) return;
  world.sim.clock.in(2 * world.delayMs(from, to), () => {
    const sees = to.view instanceof MeasuredView ? to.view.sees(world.sim.now) : { sees: [] };
    if (from.view === view && world.isConnected(from, to))
      view.hear(to, sees, world.sim.random, world.sim.now);
  });
}

/**
 * Lets all nodes choose, knowing the others' choices, until hardly anything changes. This stands
 * for many minutes of heartbeats.
 */
function settle(world: World, views: readonly MeasuredView[]): void {
  for (let round = 0; round < MAX_CHOICES; round++) {
    let changes = 0;
    let places = 0;
    for (const [i, view] of views.entries()) {
      const before = new Set(view.members);
      view.select(world.sim.now);
      const sees = view.members.map(({ name, weight }) => [name, weight] as const);
      world.use.onTold(world.nodes[i] as SimNode, sees);
      changes += view.members.filter((peer) => !before.has(peer)).length;
      places += sees.length;
    }
    if (changes <= SETTLED_SHARE * places) return;
  }
}

/**
 * Builds a world whose nodes have met. Each node cannot reach each other one with probability
 * `blind`, in each direction separately.
 */
export function blindWorld(options: NetworkOptions, choice: Choice, blind: number): World {
  const world = build(options);
  const broken = new Map<SimNode, Set<SimNode>>();
  for (const from of world.nodes) {
    broken.set(from, new Set(world.nodes.filter(() => world.sim.random() < blind)));
  }
  const reaches = (from: SimNode, to: SimNode) => broken.get(from)?.has(to) !== true;
  world.reaches = reaches;
  meet(world, { choice, reaches });
  return world;
}

/**
 * Returns a function that draws start times from 0 to `spreadMs`, so that no two clients begin
 * together.
 */
export function staggered(world: World, spreadMs: Millis): () => Millis {
  return () => world.sim.random() * spreadMs;
}
