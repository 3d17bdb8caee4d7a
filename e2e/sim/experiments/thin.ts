/**
 * The laboratory's crowd in virtual time: 16 clients whose round trips differ, four edges near an
 * origin with a thin line, by chunk size. Processors are never short here, and no packet is lost.
 */

import { BUFFER_BYTES_PER_CLIENT } from '@millrace/shared/base/limits';
import { formatBytes } from '@millrace/shared/base/units';
import { MAX_HOPS } from '@millrace/shared/cdn/routing/route';
import type { Bar, BarChart } from '../../charts/chart.ts';
import { spread } from '../../charts/spread.ts';
import { SimClient } from '../client.ts';
import type { Downloading } from '../downloading.ts';
import type { Settings } from '../main.ts';
import { meet } from '../network.ts';
import { PATIENCE, type SimNode } from '../node.ts';
import { mean, quantile, type Report } from '../report.ts';
import { ScheduledClient } from '../scheduled-client.ts';
import { Link } from '../wire.ts';
import { World } from '../world.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const FILE_BYTES = 10 * MiB;
const SIZES = [64 * KiB, 128 * KiB, 256 * KiB, 512 * KiB, MiB, 2 * MiB];
const CLIENTS = 16;
const EDGES = 4;
const CLIENT_MBIT = 20;
const EDGE_MBIT = 100;
const ORIGIN_MBIT = 20;
const RTT_MS = [10, 80] as const;
/** Time within which programs start that are told to begin together. */
const SPREAD_MS = 50;
/** Size of a piece: four under way per flow fill the farthest client's line. */
const PIECE_BYTES = 64 * KiB;
const RUNS = 5;
const LIMIT_MS = 3_600_000;

const HOW = ['in order', 'out of order', 'several edges at once'] as const;
type How = (typeof HOW)[number];

export interface ThinOptions {
  readonly seed: number;
  readonly chunkBytes: number;
  readonly how?: How;
  /** True if other clients have fetched the file before. */
  readonly cached?: boolean;
}

/** Result of one crowd. */
export interface ThinResult {
  /** Mean of the clients' throughputs, Mbit/s. */
  readonly mbit: number;
  /** Time until all clients are done. */
  readonly seconds: number;
  readonly copies: number;
}

/** Runs one crowd. @throws Error if a client does not get the file */
export async function thinOrigin(options: ThinOptions): Promise<ThinResult> {
  const { seed, chunkBytes, how = 'in order', cached = false } = options;
  const at = (accessMs: number) => ({ x: 0, y: 0, accessMs });
  const world = new World({
    seed,
    chunkBytes,
    chunks: Math.ceil(FILE_BYTES / chunkBytes),
    bufferBytes: BUFFER_BYTES_PER_CLIENT,
    maxHops: MAX_HOPS,
    farHop: true,
    originMbit: ORIGIN_MBIT,
    originPlace: at(0),
    pieceBytes: Math.min(PIECE_BYTES, chunkBytes),
    interimMs: 100,
    patience: PATIENCE,
  });
  for (let i = 0; i < EDGES; i++) world.add(at(1), EDGE_MBIT);
  meet(world, { choice: 'all' });
  if (cached) await crowd(world, how);
  world.forget();
  const since = world.sim.now;
  const clients = await crowd(world, how);
  return {
    mbit: mean(clients.map((client) => client.mbit)),
    seconds: (Math.max(...clients.map(({ endedAt }) => endedAt)) - since) / 1000,
    copies: world.copies,
  };
}

async function crowd(world: World, how: How): Promise<Downloading[]> {
  const { sim, nodes } = world;
  const [least, most] = RTT_MS;
  let done = 0;
  const clients = Array.from({ length: CLIENTS }, (_, i) => {
    const common = {
      host: { up: new Link(CLIENT_MBIT), down: new Link(CLIENT_MBIT) },
      place: { x: 0, y: 0, accessMs: least - 1 + ((most - least) * i) / (CLIENTS - 1) },
      startAt: sim.now + SPREAD_MS * sim.random(),
      onDone: () => done++,
    };
    const own = nodes.map((_, k) => nodes[(i + k) % nodes.length] as SimNode);
    if (how === 'several edges at once') return new ScheduledClient({ ...common, edges: own });
    return new SimClient({ ...common, edges: own, inOrder: how === 'in order', aware: false });
  });
  await sim.run(() => done === CLIENTS, sim.now + LIMIT_MS);
  const incomplete = clients.filter(({ state }) => state !== 'complete').length;
  if (incomplete > 0) throw new Error(`${incomplete} clients did not get the file`);
  return clients;
}

export async function thin({ seed }: Settings): Promise<Report> {
  const tables = [];
  const charts: BarChart[] = [];
  for (const cached of [false, true]) {
    const rows: (string | number)[][] = [];
    const groups: { name: string; bars: Bar[] }[] = [];
    for (const chunkBytes of SIZES) {
      const name = formatBytes(chunkBytes);
      const row: (string | number)[] = [name];
      const bars: Bar[] = [];
      for (const how of HOW) {
        const results: ThinResult[] = [];
        for (let run = 0; run < RUNS; run++) {
          results.push(await thinOrigin({ seed: seed + run, chunkBytes, how, cached }));
        }
        bars.push(spread(results.map(({ mbit }) => mbit)));
        const middle = (of: (result: ThinResult) => number) => quantile(results.map(of), 0.5);
        row.push(
          middle((r) => r.mbit),
          middle((r) => r.seconds),
        );
        if (!cached) row.push(middle((r) => r.copies));
      }
      rows.push(row);
      groups.push({ name: `chunks of ${name}`, bars });
    }
    const caption = cached ? 'The file is at the edges' : 'The file is at the origin';
    charts.push({
      title: `${caption}: ${CLIENTS} clients of ${CLIENT_MBIT} Mbit/s, an origin of ${ORIGIN_MBIT}`,
      unit: 'Mbit/s per client (simulated)',
      better: 'more',
      range: `least and most of ${RUNS} seeds`,
      series: HOW,
      groups,
    });
    tables.push({
      caption,
      columns: ['chunks', ...HOW.flatMap((how) => [how, 's', ...(cached ? [] : ['copies'])])],
      rows,
    });
  }
  return {
    title: `${CLIENTS} clients before an origin of ${ORIGIN_MBIT} Mbit/s, by chunk size`,
    tables,
    charts,
    notes: [
      `Mbit/s per client on average, seconds until all are done, bytes sent by the origin as multiples of the file; medians of ${RUNS} seeds. Clients have ${CLIENT_MBIT} Mbit/s and round trips of ${RTT_MS.join(' to ')} ms, edges ${EDGE_MBIT} Mbit/s; ${formatBytes(FILE_BYTES)}.`,
      'Edges send a chunk only when they have all of it: behind a thin origin, larger chunks come later.',
    ],
  };
}
