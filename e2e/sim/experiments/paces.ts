/**
 * Measures what edges hold for clients with thin and with wide lines, and what the clients get:
 * chunks are requested just in time for slow clients (WORLDS 4.1), or for all as soon as the window
 * allows.
 */

import { DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { SimClient } from '../client.ts';
import type { Settings } from '../main.ts';
import { build, meet } from '../network.ts';
import type { SimNode } from '../node.ts';
import { mean, quantile, type Report } from '../report.ts';
import { Link } from '../wire.ts';
import type { World } from '../world.ts';

const NODES = 40;
const CHUNKS = 192;
const CLIENTS = 10;
const CLIENT_MBIT = [1, 4, 16, 64, 1000];
/** Round trip from a client to its edge, milliseconds. */
const RTT_MS = 20;
/** Time within which the clients begin. */
const SPREAD_MS = 20_000;
const LIMIT_MS = 2 * 3_600_000;
const MiB = 1024 * 1024;

/** Places of the file; nodes are even, or some are slow. */
const WHERE = ['at its nodes', 'at the origin', 'at its nodes, some slow'] as const;

interface PacesOptions {
  readonly seed: number;
  readonly where: (typeof WHERE)[number];
  /** Rate of each client's line, Mbit/s. */
  readonly mbit: number;
  readonly justInTime: boolean;
  readonly chunks?: number | undefined;
}

/** Medians over the clients of one run. */
interface PacesResult {
  readonly firstByteMs: number;
  readonly mbit: number;
  /** MiB that the edge holds for the client, or has under way, when a chunk comes: on average, most. */
  readonly held: number;
  readonly most: number;
}

/** Runs clients at nodes of their own. @throws Error if a client does not get the file */
export async function pacesFigures(options: PacesOptions): Promise<PacesResult> {
  const { seed, where, mbit, justInTime, chunks = CHUNKS } = options;
  const world = build({ seed, nodes: NODES, chunks, justInTime });
  meet(world, { choice: 'all' });
  if (where === 'at its nodes, some slow') {
    // A tenth of the nodes: each holds up every response in order that comes to it (WORLDS 4.1).
    for (const node of world.nodes.slice(-NODES / 10)) node.up.bytesPerMs /= 8;
  }
  if (where !== 'at the origin') await download(world, 1, 1000);
  const clients = await download(world, CLIENTS, mbit);
  const middle = (of: (client: SimClient) => number) => quantile(clients.map(of), 0.5);
  const chunkMiB = DEFAULT_CHUNK_BYTES / MiB;
  return {
    firstByteMs: middle((client) => (client.firstAt ?? 0) - (client.endedAt - client.tookMs)),
    mbit: middle((client) => client.mbit),
    held: middle(({ ahead }) => mean(ahead)) * chunkMiB,
    most: middle(({ ahead }) => Math.max(...ahead)) * chunkMiB,
  };
}

async function download(world: World, count: number, mbit: number): Promise<SimClient[]> {
  const { sim, nodes } = world;
  let done = 0;
  const clients = Array.from({ length: count }, (_, i) => {
    const edge = nodes[i] as SimNode;
    return new SimClient({
      host: { up: new Link(mbit), down: new Link(mbit) },
      place: { ...edge.place, accessMs: RTT_MS - edge.place.accessMs },
      edges: [edge],
      startAt: sim.now + SPREAD_MS * sim.random(),
      inOrder: true,
      aware: false,
      onDone: () => done++,
    });
  });
  await sim.run(() => done === count, sim.now + LIMIT_MS);
  const incomplete = clients.filter(({ state }) => state !== 'complete').length;
  if (incomplete > 0) throw new Error(`${incomplete} clients did not get the file`);
  return clients;
}

export async function paces({ seed, chunks }: Settings): Promise<Report> {
  const tables = [];
  for (const where of WHERE) {
    const rows: (string | number)[][] = [];
    for (const mbit of CLIENT_MBIT) {
      const row: (string | number)[] = [mbit];
      for (const justInTime of [false, true]) {
        const r = await pacesFigures({ seed, where, mbit, justInTime, chunks });
        row.push(r.firstByteMs, r.mbit, r.held, r.most);
      }
      rows.push(row);
    }
    const columns = ['first byte ms', 'Mbit/s', 'MiB held', 'most'];
    tables.push({
      caption: `The file is ${where}`,
      columns: ['Mbit/s of clients', ...columns, ...columns.map((name) => `${name}, in time`)],
      rows,
    });
  }
  return {
    title: `${CLIENTS} clients at ${NODES} nodes, by the rate of their lines`,
    tables,
    notes: [
      'Medians over the clients. Held is what an edge has fetched for a client, or is fetching, and the client has not taken: all of it was fetched in vain if the client leaves. It is read whenever a chunk comes.',
      `Clients begin within ${SPREAD_MS / 1000} s, ${RTT_MS} ms from their edges. Nodes have lines of 10 to 100 Mbit/s, the origin 100. Slow nodes, a tenth, send at an eighth.`,
    ],
  };
}
