/**
 * How many chunks are requested again and sent on, and what patience with slow requests costs and
 * brings: crowds before thin and good origins, and over slow nodes, by patience.
 */

import { crowd, neighbours } from '../crowd.ts';
import type { Settings } from '../main.ts';
import { blindWorld, type NetworkOptions } from '../network.ts';
import { PATIENCE } from '../node.ts';
import { mean, percent, quantile, type Report, type Table } from '../report.ts';
import type { World, WorldOptions } from '../world.ts';

type Patience = WorldOptions['patience'];

/** Runs of each case, with seeds one after the other. */
const RUNS = 5;
/** Patience that is compared: one of the two changes, the other one is that of edges. */
const COMPARED = [1, 2, 4, 8, 16, 32];

/** Pieces so small that a slow connection brings some within any time that requests may take. */
const FINE_BYTES = 16 * 1024;

const FEW = { nodes: 4, chunks: 64, pieceBytes: FINE_BYTES };

export interface Case {
  readonly name: string;
  /** The patience that matters in this case. */
  readonly compares: keyof Patience;
  readonly options?: Partial<NetworkOptions>;
  /** Clients at each node; in networks of a few nodes only, which ask the origin again and again. */
  readonly clients?: number;
  /** The origin's line has a tenth of its rate from 5 s to 25 s. */
  readonly dips?: boolean;
  /** One node in twenty sends slower by this factor. */
  readonly slower?: number;
}

export const CASES: readonly Case[] = [
  {
    name: 'an origin of 2 Mbit/s',
    compares: 'origin',
    options: { ...FEW, originMbit: 2 },
    clients: 4,
  },
  {
    name: '5% of the connections to the origin have 0.2 Mbit/s',
    compares: 'origin',
    options: { ...FEW, originMbit: 20, slowConnections: { share: 0.05, mbit: 0.2 } },
    clients: 4,
  },
  {
    name: 'an origin of 20 Mbit/s that has a tenth of it for 20 s',
    compares: 'origin',
    options: { ...FEW, originMbit: 20 },
    clients: 4,
    dips: true,
  },
  { name: 'all well', compares: 'receivers' },
  { name: '5% of nodes send at a tenth', compares: 'receivers', slower: 10 },
  { name: '5% of nodes send at a hundredth', compares: 'receivers', slower: 100 },
];

interface Size {
  readonly nodes: number;
  readonly chunks: number;
}

/** Figures of one crowd. */
export interface RetryFigures {
  readonly mbit: number;
  /** Seconds within which nine in ten clients were done. */
  readonly seconds: number;
  readonly copies: number;
  readonly failed: number;
  /** Shares, 0 to 1: of all chunks requested again by responses. */
  readonly retried: number;
  /** Of the chunks fetched at the origin, and at hop 1 and 2, those that were requested again. */
  readonly again: readonly [origin: number, first: number, second: number];
  /** Forwards at hop 2, and at later ones, by forwards at hop 1. */
  readonly reforwarded: number;
  readonly further: number;
  /** Races for a chunk that the first request won. */
  readonly firstWins: number;
}

/** Runs a crowd of one client per node; 2% of the others are out of each node's reach. */
export async function retryFigures(
  { options, clients: each = 1, dips = false, slower = 1 }: Case,
  seed: number,
  patience: Patience,
  size: Size,
): Promise<RetryFigures> {
  const blind = each > 1 ? 0 : 0.02;
  const world = blindWorld({ seed, ...size, ...options, patience }, 'near', blind);
  for (const [i, { up }] of world.nodes.entries()) if (i % 20 === 1) up.bytesPerMs /= slower;
  if (dips) dip(world);
  const clients = await crowd(world, {
    nodes: Array.from({ length: each }, () => world.nodes).flat(),
    aware: true,
    edges: (node) => neighbours(world, node, 4),
  });
  const complete = clients.filter(({ state }) => state === 'complete');
  const f = world.figures;
  const [, first = 0, second = 0, ...more] = f.forwards;
  const share = (part: number, all: number) => part / Math.max(1, all);
  const againAt = (hop: number) => share(f.fetches[hop]?.again ?? 0, f.fetches[hop]?.all ?? 0);
  return {
    mbit: mean(complete.map(({ mbit }) => mbit)),
    seconds: quantile(
      complete.map(({ tookMs }) => tookMs / 1000),
      0.9,
    ),
    copies: world.copies,
    failed: clients.length - complete.length,
    retried: share(f.retriedChunks, f.chunkRequests),
    again: [againAt(0), againAt(1), againAt(2)],
    reforwarded: share(second, first),
    further: share(
      more.reduce((sum, n) => sum + n, 0),
      first,
    ),
    firstWins: share(f.racesWonByFirst, f.races),
  };
}

function dip({ origin, sim: { clock } }: World): void {
  const { up } = origin;
  const usual = up.bytesPerMs;
  clock.in(5000, () => {
    up.bytesPerMs = usual / 10;
  });
  clock.in(25_000, () => {
    up.bytesPerMs = usual;
  });
}

/** Runs a case with several seeds. @returns the mean of each figure */
async function runs(
  one: Case,
  seed: number,
  patience: Patience,
  size: Size,
): Promise<RetryFigures> {
  const all: RetryFigures[] = [];
  for (let i = 0; i < RUNS; i++) all.push(await retryFigures(one, seed + i, patience, size));
  const of = (figure: (one: RetryFigures) => number) => mean(all.map(figure));
  return {
    mbit: of(({ mbit }) => mbit),
    seconds: of(({ seconds }) => seconds),
    copies: of(({ copies }) => copies),
    failed: of(({ failed }) => failed),
    retried: of(({ retried }) => retried),
    again: [of(({ again }) => again[0]), of(({ again }) => again[1]), of(({ again }) => again[2])],
    reforwarded: of(({ reforwarded }) => reforwarded),
    further: of(({ further }) => further),
    firstWins: of(({ firstWins }) => firstWins),
  };
}

const COLUMNS = [
  ...['Mbit/s', 's 90%', 'copies', 'failed', 'retried', 'again at the origin', 'at hop 1'],
  ...['at hop 2', 're-forwarded', 'more than once', 'first wins'],
];

function row(f: RetryFigures): (string | number)[] {
  const shares = [f.retried, ...f.again, f.reforwarded, f.further].map(percent);
  return [f.mbit, f.seconds, f.copies, f.failed, ...shares, `${Math.round(100 * f.firstWins)}%`];
}

export async function retries({ seed, nodes = 80, chunks = 32 }: Settings): Promise<Report> {
  const size = { nodes, chunks };
  const tables: Table[] = [];
  const byCase: (string | number)[][] = [];
  for (const one of CASES) byCase.push([one.name, ...row(await runs(one, seed, PATIENCE, size))]);
  tables.push({
    caption: 'With the patience of edges',
    columns: ['crowd', ...COLUMNS],
    rows: byCase,
  });
  for (const one of CASES) {
    const rows: (string | number)[][] = [];
    for (const value of COMPARED) {
      const patience = { ...PATIENCE, [one.compares]: value };
      const name = `${value}${value === PATIENCE[one.compares] ? ' (edges)' : ''}`;
      rows.push([name, ...row(await runs(one, seed, patience, size))]);
    }
    const column = one.compares === 'origin' ? 'patience at the origin' : 'with receivers';
    tables.push({ caption: one.name, columns: [column, ...COLUMNS], rows });
  }
  return {
    title: `Retries, with ${nodes} nodes and files of ${chunks} chunks`,
    tables,
    notes: [
      `Means of ${RUNS} seeds. Edges: ${PATIENCE.origin} at the origin, ${PATIENCE.receivers} with receivers. All clients start at once, nothing is stored before.`,
      'Retried: chunks of responses that were requested again (paper: 10-20%). Again: chunks for which a node sent another request beside the first. Re-forwarded: paper 3-15%, more than once under 1%.',
    ],
  };
}
