/**
 * A share of the nodes dies at one moment under running downloads. Compares each client with itself in
 * the same network without deaths.
 */

import { type Client, crowd, neighbours } from '../crowd.ts';
import { SimHeartbeats } from '../heartbeats.ts';
import type { Settings } from '../main.ts';
import { build, meet, staggered } from '../network.ts';
import type { SimNode } from '../node.ts';
import { mean, quantile, type Report } from '../report.ts';
import type { World } from '../world.ts';

/** Time over which the clients start, and the moment of the deaths in it. */
const SPREAD_MS = 30_000;
const AT_MS = 15_000;
/** Edges that a client can go on with, its own first. */
const EDGES = 8;

interface Case {
  readonly name: string;
  /** Share of the nodes that dies. */
  readonly share: number;
  readonly how: 'gone' | 'frozen';
}

const CASES: readonly Case[] = [
  { name: 'none, other draws', share: 0, how: 'gone' },
  { name: '1% crash', share: 0.01, how: 'gone' },
  { name: '1% fall silent', share: 0.01, how: 'frozen' },
  { name: '10% crash', share: 0.1, how: 'gone' },
  { name: '10% fall silent', share: 0.1, how: 'frozen' },
];

/** Result of one run: the clients in the order of their nodes, and the nodes that died. */
interface Outcome {
  readonly world: World;
  readonly clients: readonly Client[];
  readonly dead: ReadonlySet<number>;
}

export async function dying({ seed, nodes = 400, chunks = 32 }: Settings): Promise<Report> {
  const before = await run({ seed, nodes, chunks }, undefined);
  const rows: (string | number)[][] = [row('none', before, before)];
  for (const one of CASES) {
    rows.push(row(one.name, await run({ seed, nodes, chunks }, one), before));
  }
  return {
    title: `Deaths among ${nodes} nodes under downloads`,
    tables: [
      {
        caption: 'Clients of nodes that live: seconds more than without deaths',
        columns: [
          ...['deaths', 'clients', 'failed', 'Mbit/s mean', 'more: median', '95%', 'most'],
          ...['over 2 s more', 'origin copies', 'clients of dead nodes', 'failed', 's mean'],
        ],
        rows,
      },
    ],
    notes: [
      `One client per node, starting within ${SPREAD_MS / 1000} s; the deaths are ${AT_MS / 1000} s after the start. Clients continue with the next of the ${EDGES} nearest nodes if their own one dies.`,
      '"None, other draws" shows what chance alone changes: nothing dies, but one random number is drawn at that moment.',
    ],
  };
}

async function run(
  options: { seed: number; nodes: number; chunks: number },
  deaths: Case | undefined,
): Promise<Outcome> {
  const world = build(options);
  meet(world, { choice: 'near', reaches: (a, b) => world.isConnected(a, b) });
  let over = false;
  const heartbeats = new SimHeartbeats(world, () => over);
  for (const node of world.nodes) heartbeats.begin(node, []);
  // The starts are drawn before the deaths, so that they are the same in all runs.
  const start = staggered(world, SPREAD_MS);
  const starts = world.nodes.map(() => start());
  const dead = new Set<number>();
  if (deaths !== undefined) {
    world.sim.clock.in(AT_MS, () => kill(world, deaths, dead));
  }
  const clients = await crowd(world, {
    aware: true,
    startAt: (i) => starts[i] as number,
    edges: (node: SimNode) => neighbours(world, node, EDGES),
  });
  over = true;
  return { world, clients, dead };
}

/** Ends nodes drawn at random, at least one if any. @param dead takes their places in the list */
function kill(world: World, { share, how }: Case, dead: Set<number>): void {
  const { nodes, sim } = world;
  sim.random();
  const count = Math.ceil(share * nodes.length);
  while (dead.size < count) dead.add(Math.floor(sim.random() * nodes.length));
  for (const place of dead) nodes[place]?.fail(how);
}

function row(
  name: string,
  { world, clients, dead }: Outcome,
  before: Outcome,
): (string | number)[] {
  const living = clients.filter((_, i) => !dead.has(i));
  const others = clients.filter((_, i) => dead.has(i));
  const complete = living.filter(({ state }) => state === 'complete');
  const more = clients.flatMap(({ state, tookMs }, i) =>
    dead.has(i) || state !== 'complete'
      ? []
      : [(tookMs - (before.clients[i] as Client).tookMs) / 1000],
  );
  const failed = (some: readonly Client[]) =>
    some.filter(({ state }) => state !== 'complete').length;
  return [
    ...[name, living.length, failed(living), mean(complete.map(({ mbit }) => mbit))],
    ...[quantile(more, 0.5), quantile(more, 0.95), Math.max(...more)],
    more.filter((seconds) => seconds > 2).length,
    ...[world.copies, others.length, failed(others)],
    mean(others.filter(({ state }) => state === 'complete').map(({ tookMs }) => tookMs / 1000)),
  ];
}
