/**
 * NSDI table 1 in virtual time: in order and out of order, synchronised and staggered, first and
 * cached.
 */

import { CROWD_COLUMNS, crowd, crowdRow } from '../crowd.ts';
import type { Settings } from '../main.ts';
import { blindWorld, staggered } from '../network.ts';
import { mean, type Report } from '../report.ts';

/** NSDI 6: most clients started within 20 to 40 seconds of each other. */
const STAGGER_MS = 40_000;
/** Share of nodes whose line is slower than they tell, and by what factor. */
const SLOW_SHARE = 0.05;
const SLOW_BY = 10;

export async function order({ seed, nodes = 400, chunks = 96 }: Settings): Promise<Report> {
  const rows: (string | number)[][] = [];
  const gains: [string, number][] = [];
  for (const start of ['synchronised', 'staggered', 'stored'] as const) {
    const means: number[] = [];
    for (const inOrder of [true, false]) {
      const world = blindWorld({ seed, nodes, chunks }, 'near', 0.02);
      for (const node of world.nodes) {
        if (world.sim.random() < SLOW_SHARE) node.up.bytesPerMs /= SLOW_BY;
      }
      if (start === 'stored') {
        await crowd(world);
        world.forget();
      }
      const at = staggered(world, start === 'staggered' ? STAGGER_MS : 0);
      const since = world.sim.now;
      const clients = await crowd(world, { inOrder, startAt: () => since + at() });
      rows.push([start, inOrder ? 'in order' : 'out of order', ...crowdRow(world, clients)]);
      means.push(mean(clients.filter((c) => c.state === 'complete').map((c) => c.mbit)));
    }
    gains.push([start, (means[1] as number) / (means[0] as number)]);
  }
  return {
    title: `In order and out of order, ${nodes} nodes, ${100 * SLOW_SHARE}% of them slow`,
    tables: [
      { caption: 'All runs', columns: ['start', 'delivery', ...CROWD_COLUMNS], rows },
      {
        caption: 'Gain of out-of-order delivery in mean throughput (paper: 1.16, 1.23, 1.24)',
        columns: ['start', 'gain'],
        rows: gains,
      },
    ],
    notes: [
      'Paper, Mbit/s mean (NSDI table 1): in order 2.50, 2.99, 3.51; out of order 2.91, 3.68, 4.36 for synchronised, staggered, stored. Its nodes and lines were others: compare ratios.',
      `Nodes have lines of 10 to 100 Mbit/s, the origin 100. Slow ones send at a ${SLOW_BY}th of that.`,
    ],
  };
}
