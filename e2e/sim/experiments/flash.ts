/** A flash crowd: far more clients than nodes, for a file that no node has yet. */

import type { Random } from '@millrace/shared/base/clock';
import { DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { formatBytes } from '@millrace/shared/base/units';
import { SimClient } from '../client.ts';
import { CROWD_COLUMNS, crowdRow, type Outcome } from '../crowd.ts';
import { buildLarge } from '../large.ts';
import type { Settings } from '../main.ts';
import type { SimNode } from '../node.ts';
import { mean, quantile, type Report } from '../report.ts';
import { ScheduledClient } from '../scheduled-client.ts';
import { Link } from '../wire.ts';
import type { World } from '../world.ts';

/** Number of edges that a client with the download scheduler uses at once. */
const EDGES = 3;
/** Clients arrive within this time. */
const ARRIVAL_MS = 30_000;
const CLIENT_MBIT = [5, 100] as const;
const NODE_MBIT = [200, 1000] as const;
const ORIGIN_MBIT = 1000;

/** Number of clients from which bytes travel in whole chunks by default. */
const COARSE_FROM = 20_000;
const FINE_PIECE_BYTES = 256 * 1024;

export async function flash(settings: Settings): Promise<Report> {
  const { seed, nodes = 15_000, chunks = 16, clients: count = 100_000 } = settings;
  const coarse = settings.coarse ?? count >= COARSE_FROM;
  const world = buildLarge({
    ...{ seed, nodes, chunks, mbit: NODE_MBIT, originMbit: ORIGIN_MBIT },
    pieceBytes: coarse ? DEFAULT_CHUNK_BYTES : FINE_PIECE_BYTES,
    interimMs: 500,
  });
  const { sim } = world;
  const outcomes: Outcome[] = [];
  const { scheduled = false } = settings;
  arrive(world, count, scheduled, (client) => outcomes.push(client));
  let mostTransfers = 0;
  const sample = () => {
    for (const { transfers } of world.nodes) mostTransfers = Math.max(mostTransfers, transfers);
    if (outcomes.length < count) sim.clock.in(1000, sample);
  };
  sample();
  await sim.run(() => outcomes.length === count, 3_600_000);
  const mbit = outcomes.filter(({ state }) => state === 'complete').map(({ mbit }) => mbit);
  const served = world.nodes.map((node) => node.served);
  const fetches = world.figures.originFetches;
  return {
    title: `Flash crowd: ${count} clients at ${nodes} nodes within ${ARRIVAL_MS / 1000} s`,
    tables: [
      { caption: 'Clients', columns: [...CROWD_COLUMNS], rows: [crowdRow(world, outcomes)] },
      {
        caption: 'Nodes',
        columns: ['figure', 'value'],
        rows: [
          ['chunks fetched from the origin, mean copies of a chunk', mean(fetches)],
          ['most copies of one chunk', Math.max(...fetches)],
          ['chunks sent per node, mean', mean(served)],
          ['99% of nodes sent at most', quantile(served, 0.99)],
          ['most chunks sent by one node', Math.max(...served)],
          ['most transfers at a time on one node (sampled each second)', mostTransfers],
          ['virtual seconds', sim.now / 1000],
          ['events', sim.events],
        ],
      },
    ],
    plots: [
      {
        caption: 'Throughput of clients, Mbit/s, by percentile',
        bars: [5, 25, 50, 75, 95].map((p) => [`${p}%`, quantile(mbit, p / 100)] as const),
      },
    ],
    notes: [
      `${chunks} chunks of ${formatBytes(DEFAULT_CHUNK_BYTES)}; clients have ${CLIENT_MBIT.join(' to ')} Mbit/s, nodes ${NODE_MBIT.join(' to ')}, the origin ${ORIGIN_MBIT}. Clients use ${scheduled ? `${EDGES} nodes near them at once` : 'a node near them'}.`,
      'As edges do, each node knows the nearest thousand nodes and a sample of about a thousand others, and the peers of all these by name; it measures the nearest 280.',
      `Bytes travel in ${coarse ? 'whole chunks' : `pieces of ${formatBytes(FINE_PIECE_BYTES)}`}, and waiting nodes learn of the progress every 500 ms instead of every 100.`,
    ],
  };
}

/** Starts clients one by one, and keeps only the results of finished ones. */
function arrive(
  world: World,
  count: number,
  scheduled: boolean,
  onDone: (outcome: Outcome) => void,
): void {
  const { clock, random } = world.sim;
  const times = Float64Array.from({ length: count }, () => ARRIVAL_MS * random()).sort();
  const next = (i: number) => {
    if (i === count) return;
    clock.at(times[i] as number, () => {
      const node = world.nodes[Math.floor(random() * world.nodes.length)] as SimNode;
      const mbit = logUniform(CLIENT_MBIT, random);
      const common = {
        host: { up: new Link(mbit), down: new Link(mbit) },
        place: { ...node.place, accessMs: 10 + 20 * random() },
        startAt: clock.now,
        onDone: (client: Outcome) => onDone(fared(client)),
      };
      if (scheduled) new ScheduledClient({ ...common, edges: edgesNear(world, node) });
      else new SimClient({ ...common, edges: [node], inOrder: true, aware: false });
      next(i + 1);
    });
  };
  next(0);
}

/** Returns a node and some of its peers, as edges that an operator could name. */
function edgesNear(world: World, node: SimNode): SimNode[] {
  const peers = node.view.nodes(0).slice(0, EDGES);
  return peers.map(({ name }) => world.byName(name));
}

function fared({ state, mbit, tookMs }: Outcome): Outcome {
  return { state, mbit, tookMs };
}

function logUniform([least, most]: readonly [number, number], random: Random): number {
  return least * (most / least) ** random();
}
