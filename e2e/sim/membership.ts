/**
 * Measures the cost of membership and the time until dead nodes are noticed, with views as heartbeats
 * yield them: nodes start with a few seeds, find the others, choose peers, and lose some of them.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MAX_PEERS } from '@millrace/shared/cdn/routing/peer-set';
import { MAX_NODES } from '@millrace/shared/cdn/routing/peer-table';
import { sample } from '@millrace/shared/cdn/routing/sample';
import { type HeartbeatFigures, SimHeartbeats } from './heartbeats.ts';
import { buildLarge } from './large.ts';
import type { SimNode } from './node.ts';
import { rttMs } from './places.ts';
import { mean } from './report.ts';
import { MeasuredView } from './views.ts';
import type { World } from './world.ts';

/** Nodes that an operator names to each node. */
const SEEDS = 3;
/**
 * Time in which nodes that have just started find the others and choose their peers: some rounds of
 * heartbeats, and the first question to each node.
 */
const SETTLING_MS = 60_000;
const SETTLING_MS_PER_NODE = 125;
/** Time in which heartbeats are counted: one round over all peers. */
const COUNTED_MS = 60_000;
/** Longest wait for nodes to notice dead ones. */
const MAX_NOTICE_MS = 15 * 60_000;
const CHECK_MS = 250;

export interface MembershipOptions {
  readonly seed: number;
  readonly nodes: number;
  /**
   * Nodes whose heartbeats are simulated. The others answer, with peers chosen in advance. Fewer
   * than all in large networks: the work grows with the square of the number.
   */
  readonly measured: number;
  /** Losses of nodes, one after the other, each once the one before is noticed. */
  readonly losses: readonly Loss[];
  /** True if operators have named the place of each node; a site has six. */
  readonly hasSites?: boolean;
}

/** A share of the nodes that are up dies at the same moment. */
export interface Loss {
  readonly share: number;
  /** How they die: `frozen`, without a sound, or `gone`, where the machine refuses connections. */
  readonly how: 'frozen' | 'gone';
  /** Requests for chunks that each measured node sends a second, each to one of its peers. */
  readonly requestsPerSecond: number;
}

/** How a loss was noticed by the measured nodes that had dead nodes as peers. */
interface Noticed {
  /** Times from the death until the node was no longer used, one for each dead peer of each node. */
  readonly afterMs: readonly Millis[];
  /** Dead peers that are still in use after a quarter of an hour. */
  readonly never: number;
}

export interface MembershipResult {
  /**
   * Time from the start until half of the measured nodes knew 99% of all nodes, or as many as a node
   * remembers.
   */
  readonly knowingMs: Millis;
  /** Share of the `MAX_PEERS` nearest nodes that a measured node has found, mean. */
  readonly nearFound: number;
  /** Peers of a measured node, mean. */
  readonly peers: number;
  /** Heartbeats sent by a node per second, mean and most of a node. */
  readonly sentPerSecond: number;
  readonly mostPerSecond: number;
  /** Bytes of a node's heartbeats and their answers per second, mean. */
  readonly bytesPerSecond: number;
  readonly noticed: readonly Noticed[];
}

/** Simulates a network from its start until the death of some nodes is known. */
export async function membership(options: MembershipOptions): Promise<MembershipResult> {
  const { seed, nodes, measured, losses, hasSites = false } = options;
  const world = buildLarge({ seed, nodes, chunks: 1 });
  const { sim } = world;
  const observers = sample(world.nodes, measured, sim.random);
  const heartbeats = new SimHeartbeats(world, () => false, hasSites);
  for (const node of observers) node.view = new MeasuredView(node, 'near', world.use);
  for (const node of observers) {
    const seeds = sample(world.nodes, SEEDS + 1, sim.random).filter((other) => other !== node);
    heartbeats.begin(
      node,
      seeds.slice(0, SEEDS).map(({ name }) => name),
    );
  }
  const views = observers.map(({ view }) => view as MeasuredView);
  const settledAt = SETTLING_MS + nodes * SETTLING_MS_PER_NODE;
  const knowingMs = await untilKnown(world, views, settledAt);
  await pass(world, settledAt - sim.now);
  heartbeats.forget();
  await pass(world, COUNTED_MS);
  const figures = observers.map((node) => ({ ...heartbeats.figures(node) }));
  const peers = mean(views.map(({ members }) => members.length));
  const nearFound = mean(observers.map((node) => nearKnown(world, node)));
  const noticed: Noticed[] = [];
  for (const loss of losses) noticed.push(await lose(world, observers, loss));
  return { knowingMs, nearFound, peers, ...perSecond(figures), noticed };
}

/** Lets time pass, in virtual time. */
async function pass(world: World, ms: Millis): Promise<void> {
  let isOver = false;
  world.sim.clock.in(ms, () => {
    isOver = true;
  });
  await world.sim.run(() => isOver, Number.POSITIVE_INFINITY);
}

async function untilKnown(
  world: World,
  views: readonly MeasuredView[],
  limit: Millis,
): Promise<Millis> {
  const { sim, nodes } = world;
  const enough = Math.min(0.99 * (nodes.length - 1), MAX_NODES);
  const knows = ({ table }: MeasuredView) => {
    return [...table.peers].filter((peer) => table.isAlive(peer)).length >= enough;
  };
  while (sim.now < limit) {
    await pass(world, 1000);
    if (2 * views.filter(knows).length >= views.length) return sim.now;
  }
  return Number.POSITIVE_INFINITY;
}

/** Returns the share of the nearest nodes that a node knows. */
function nearKnown(world: World, node: SimNode): number {
  const { table } = node.view as MeasuredView;
  const nearest = world.nodes
    .filter((other) => other !== node)
    .map(({ name, place }) => ({ name, rtt: rttMs(node.place, place) }))
    .sort((a, b) => a.rtt - b.rtt)
    .slice(0, MAX_PEERS);
  return nearest.filter(({ name }) => table.get(name) !== undefined).length / nearest.length;
}

function perSecond(figures: readonly HeartbeatFigures[]) {
  const seconds = COUNTED_MS / 1000;
  const sent = figures.map((node) => node.sent / seconds);
  return {
    sentPerSecond: mean(sent),
    mostPerSecond: Math.max(...sent),
    bytesPerSecond: mean(figures.map(({ bytes }) => bytes / seconds)),
  };
}

/** Lets nodes die, and waits until no measured node that has one of them as a peer would use it. */
async function lose(world: World, observers: readonly SimNode[], loss: Loss): Promise<Noticed> {
  const { sim } = world;
  const up = world.nodes.filter(({ state }) => state === 'up');
  const dying = new Set(sample(up, Math.ceil(loss.share * up.length), sim.random));
  for (const node of dying) node.fail(loss.how);
  const diedAt = sim.now;
  const left = observers.filter(({ state }) => state === 'up');
  let unaware = left.flatMap(({ view }) =>
    view
      .nodes(sim.now)
      .filter(({ name }) => dying.has(world.byName(name)))
      .map(({ name }) => ({ view, name })),
  );
  let isOver = false;
  for (const node of left) request(world, node, loss.requestsPerSecond, () => isOver);
  const afterMs: Millis[] = [];
  while (unaware.length > 0 && sim.now - diedAt < MAX_NOTICE_MS) {
    await pass(world, CHECK_MS);
    const still = unaware.filter(({ view, name }) =>
      view.nodes(sim.now).some((node) => node.name === name),
    );
    for (let i = still.length; i < unaware.length; i++) afterMs.push(sim.now - diedAt);
    unaware = still;
  }
  isOver = true;
  return { afterMs, never: unaware.length };
}

/** Sends requests for chunks to peers at random; one to a dead node fails, at once or by silence. */
function request(world: World, node: SimNode, perSecond: number, until: () => boolean): void {
  if (perSecond === 0) return;
  const { clock, random } = world.sim;
  const view = node.view as MeasuredView;
  const next = () => {
    world.sim.quiet();
    if (until()) return;
    clock.in(1000 / perSecond, next);
    const [, ...usable] = view.nodes(clock.now);
    const chosen = usable[Math.floor(random() * usable.length)];
    const peer = chosen === undefined ? node : world.byName(chosen.name);
    if (peer.state === 'up') return;
    const isRefused = peer.state === 'gone';
    const failsAfter = isRefused ? 2 * world.delayMs(node, peer) : view.table.silenceMs(peer.name);
    clock.in(failsAfter, () => {
      world.sim.quiet();
      view.onForwardFailed(peer.name, clock.now);
    });
  };
  clock.in((1000 / perSecond) * random(), next);
}
