/**
 * How far ahead of their clients edges fetch (WORLDS 4.1): clients of several rates, each at an edge
 * of its own, while some nodes send slowly.
 */

import { SimClient } from '../client.ts';
import type { Settings } from '../main.ts';
import { build, meet } from '../network.ts';
import { mean, quantile, type Report } from '../report.ts';
import { Link } from '../wire.ts';

const MBIT = [2, 10, 50, 200];
const CLIENTS = 8;
const NODE_MBIT = [200, 1000] as const;
const ORIGIN_MBIT = 2000;
/** Share of nodes whose line is slower than they tell, and by what factor. */
const SLOW_SHARE = 0.1;
const SLOW_BY = 20;
const LIMIT_MS = 3_600_000;

export async function ahead({ seed, nodes = 40, chunks = 96 }: Settings): Promise<Report> {
  const rows: (string | number)[][] = [];
  for (const isStored of [false, true]) {
    for (const inOrder of [true, false]) {
      for (const mbit of MBIT) {
        const options = { seed, nodes, chunks, mbit: NODE_MBIT, originMbit: ORIGIN_MBIT };
        const world = build(options);
        meet(world, { choice: 'all' });
        for (const node of world.nodes) {
          if (world.sim.random() < SLOW_SHARE) node.up.bytesPerMs /= SLOW_BY;
        }
        // Clients of other nodes bring the file into the network.
        if (isStored) await download(world, world.nodes.slice(CLIENTS), 1000, true);
        world.forget();
        const clients = await download(world, world.nodes.slice(0, CLIENTS), mbit, inOrder);
        const mib = (count: number) => (count * world.o.chunkBytes) / (1024 * 1024);
        const { held } = world.figures;
        rows.push([
          isStored ? 'at nodes' : 'at the origin',
          inOrder ? 'in order' : 'out of order',
          mbit,
          mean(clients.map((client) => client.mbit)),
          Math.min(...clients.map((client) => client.mbit)),
          mib(mean(held)),
          mib(quantile(held, 1)),
        ]);
      }
    }
  }
  return {
    title: `Chunks held for ${CLIENTS} clients of one rate, ${nodes} nodes, ${100 * SLOW_SHARE}% of them slow`,
    tables: [
      {
        caption: 'Throughput, and memory for one client',
        columns: ['file', 'delivery', 'line', 'Mbit/s mean', 'least', 'MiB mean', 'most'],
        rows,
      },
    ],
    notes: [
      `Each client is at a node of its own. Nodes have lines of ${NODE_MBIT.join(' to ')} Mbit/s, slow ones send at a ${SLOW_BY}th of that.`,
      'MiB: chunks requested for a client and not taken by it yet, each time that one more is requested.',
    ],
  };
}

async function download(
  world: ReturnType<typeof build>,
  nodes: typeof world.nodes,
  mbit: number,
  inOrder: boolean,
): Promise<SimClient[]> {
  let done = 0;
  const clients = nodes.map(
    (node) =>
      new SimClient({
        host: { up: new Link(mbit), down: new Link(mbit) },
        place: node.place,
        edges: [node],
        startAt: world.sim.now,
        inOrder,
        aware: false,
        onDone: () => done++,
      }),
  );
  await world.sim.run(() => done === clients.length, world.sim.now + LIMIT_MS);
  return clients;
}
