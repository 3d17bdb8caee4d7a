/** Nodes come, leave and fail while clients download. */

import { rank } from '@millrace/shared/cdn/routing/hrw';
import type { Bar } from '../../charts/chart.ts';
import { CROWD_COLUMNS, crowd, crowdRow, neighbours } from '../crowd.ts';
import { SimHeartbeats } from '../heartbeats.ts';
import type { Settings } from '../main.ts';
import { build, meet, staggered } from '../network.ts';
import type { SimNode } from '../node.ts';
import { percent, type Report } from '../report.ts';
import type { World } from '../world.ts';

const SPREAD_MS = 60_000;
/** Time between two changes of the network. */
const CHANGES_MS = [undefined, 10_000, 3000, 1000];
/** Share of nodes that are down at the start, so that some can come. */
const DOWN_SHARE = 0.2;
/** Nodes that operators name to each node. */
const SEEDS = 8;

export async function churn({ seed, nodes = 150, chunks = 96 }: Settings): Promise<Report> {
  const rows: (string | number)[][] = [];
  const groups: { name: string; bars: Bar[] }[] = [];
  for (const everyMs of CHANGES_MS) {
    const name = everyMs === undefined ? 'none' : `every ${everyMs / 1000} s`;
    const bars: Bar[] = [];
    for (const aware of [false, true]) {
      const world = build({ seed, nodes, chunks });
      for (const node of world.nodes) if (world.sim.random() < DOWN_SHARE) node.state = 'gone';
      meet(world, { choice: 'near', reaches: (a, b) => world.isConnected(a, b) });
      const before = owners(world);
      let over = false;
      const heartbeats = new SimHeartbeats(world, () => over);
      for (const node of world.nodes) if (node.state === 'up') begin(heartbeats, node);
      const changes = everyMs === undefined ? { made: 0 } : change(heartbeats, everyMs, () => over);
      const up = world.nodes.filter(({ state }) => state === 'up');
      const at = staggered(world, SPREAD_MS);
      const clients = await crowd(world, {
        ...{ nodes: up, aware, startAt: at },
        edges: (node) => neighbours(world, node, 8),
      });
      over = true;
      const moved = owners(world).filter((name, i) => name !== before[i]).length / before.length;
      const resumes = clients.reduce((sum, client) => sum + client.resumes, 0);
      const failed = clients.filter(({ state }) => state !== 'complete').length;
      bars.push({ value: (100 * failed) / clients.length });
      rows.push([
        ...[name, aware ? 'continues elsewhere' : 'plain', ...crowdRow(world, clients)],
        ...[changes.made, percent(moved), resumes, world.figures.peerFailures],
      ]);
    }
    groups.push({ name: everyMs === undefined ? 'no changes' : `a change ${name}`, bars });
  }
  const own = ['changes', 'moved chunks', 'went elsewhere', 'peer failures'];
  return {
    title: `Churn among ${nodes} nodes, a fifth of them down at first`,
    tables: [
      { caption: 'By rate', columns: ['changes', 'client', ...CROWD_COLUMNS, ...own], rows },
    ],
    charts: [
      {
        title: `Downloads that fail while ${nodes} nodes come, leave and fail`,
        unit: '% of the downloads (simulated)',
        better: 'less',
        series: ['plain client', 'client that continues elsewhere'],
        groups,
      },
    ],
    notes: [
      `One client per node that is up, starting within ${SPREAD_MS / 1000} s. A change: a node that is down comes with an empty cache, or one that is up crashes, freezes or leaves, all equally often.`,
      'A plain client fails with the node that it is connected to; no edge can prevent that. One that continues elsewhere uses the next of the 8 nearest.',
      'Moved: chunks of a large file that have another best node after all changes than before.',
    ],
  };
}

/** Returns the best node of those that are up, for each chunk of a large file. */
function owners(world: World): string[] {
  const up = world.nodes.filter(({ state }) => state === 'up');
  return Array.from({ length: 2000 }, (_, i) => rank(`chunk ${i}`, up, 1)[0]?.name ?? '');
}

/** Starts the heartbeats of a node whose operator has named some nodes of the network. */
function begin(heartbeats: SimHeartbeats, node: SimNode): void {
  const { nodes } = heartbeats.world;
  const seeds = nodes.filter((other) => other !== node).slice(0, SEEDS);
  heartbeats.begin(
    node,
    seeds.map(({ name }) => name),
  );
}

function change(heartbeats: SimHeartbeats, everyMs: number, until: () => boolean) {
  const { world } = heartbeats;
  const { clock, random } = world.sim;
  const changes = { made: 0 };
  const next = () => {
    if (until()) return;
    clock.in(everyMs, next);
    const node = world.nodes[Math.floor(random() * world.nodes.length)];
    if (node === undefined) return;
    changes.made++;
    if (node.state === 'up') return node.fail(random() < 0.5 ? 'gone' : 'frozen');
    node.rise();
    begin(heartbeats, node);
  };
  clock.in(everyMs, next);
  return changes;
}
