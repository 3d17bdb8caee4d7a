/**
 * LOCI figures 3 to 6: speed of downloading a replicated file, by algorithm, replicas, block size
 * and connections to each server. Virtual time: the project's scheduler and the paper's algorithms
 * over the same simulated servers.
 */

import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { type Findings, median, type Plot, type Table } from '../report.ts';
import { type NamedAlgorithm, OURS, PAPERS, THREADS, VARIED } from '../virtual/algorithms.ts';
import { byReplicas, download, FILE_BYTES } from '../virtual/replica-download.ts';
import { CLIENT_NAMES, CLIENTS, type ClientName, REPLICAS } from '../virtual/servers.ts';

/** Bytes of a row of a code: as many as in the paper's largest block. */
const ROW_BYTES = 2 * 1024 * 1024;

/** Medians of the runs of one algorithm with 1 to 6 replicas. */
interface Series {
  readonly client: ClientName;
  readonly threads: number;
  readonly name: string;
  readonly megabits: readonly number[];
  /** Slowest runs. */
  readonly worst: readonly number[];
  readonly requests: readonly number[];
  readonly redundant: readonly number[];
}

export const replicas: Experiment = {
  name: 'replicas',
  title: 'Algorithms, replicas, block sizes, connections (LOCI figures 3 to 6)',
  runs: 7,
  needsLab: false,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const { say } = options;
  const series: Series[] = [];
  for (const client of CLIENT_NAMES) {
    for (const threads of THREADS) {
      say(`client ${client}, ${threads} connection(s) to each server`);
      for (const named of [...PAPERS, ...VARIED, ...OURS]) {
        series.push(measure(client, threads, named, options));
      }
    }
  }
  return {
    conditions: {
      file: `${FILE_BYTES / 1024 / 1024} MiB`,
      time: 'virtual',
      servers: 'six as in LOCI 4, rates that wander, slowdowns for 2% of the time',
      'redundant bytes allowed to Millrace': '2% of the file; none in basic mode',
    },
    tables: [
      ...CLIENT_NAMES.flatMap((client) => THREADS.map((threads) => table(client, threads, series))),
      ...CLIENT_NAMES.map((client) => codes(client, options)),
    ],
    plots: CLIENT_NAMES.map((client) => plot(client, series)),
    notes: [
      'Mbit/s with 1 to 6 replicas, medians; the columns "worst" and "twice" are for 6 replicas: the slowest run, and bytes that arrived more than once, as a share of the file.',
      'The servers are simulated TCP without packet loss. The paper states some of their rates; the others are chosen to fit its results (servers.ts).',
    ],
    raw: series,
  };
}

function measure(
  client: ClientName,
  threads: number,
  { name, algorithm }: NamedAlgorithm,
  { runs, seed }: ExperimentOptions,
): Series {
  const all = byReplicas({ servers: CLIENTS[client], algorithm, threads, seed }, runs);
  return {
    client,
    threads,
    name,
    megabits: all.map((outcomes) => median(outcomes.map((o) => o.megabits))),
    worst: all.map((outcomes) => Math.min(...outcomes.map((o) => o.megabits))),
    requests: all.map((outcomes) => median(outcomes.map((o) => o.requests))),
    redundant: all.map((outcomes) => median(outcomes.map((o) => o.redundant))),
  };
}

function table(client: ClientName, threads: number, series: readonly Series[]): Table {
  return {
    title: `Client in ${client}, ${threads} connection${threads > 1 ? 's' : ''} to each server`,
    columns: ['Mbit/s with replicas:', ...REPLICAS.map(String), 'worst', 'twice', 'requests'],
    rows: series
      .filter((s) => s.client === client && s.threads === threads)
      .map((s) => [
        s.name,
        ...s.megabits,
        s.worst.at(-1) as number,
        `${(100 * (s.redundant.at(-1) as number)).toFixed(1)}%`,
        s.requests.at(-1) as number,
      ]),
  };
}

/** Compares codes over all servers, one shard at each, by progress-driven rules: rows of 2 MiB. */
function codes(client: ClientName, { runs, seed }: ExperimentOptions): Table {
  const servers = CLIENTS[client];
  const rows = [2, 3, 4, 5].map((data) => {
    const unitBytes = Math.ceil(ROW_BYTES / data);
    const algorithm = { by: 'code', data, unitBytes, progress: 6 } as const;
    const all = Array.from({ length: runs }, (_, run) =>
      download({ servers, algorithm, threads: 2, seed: seed + run }),
    );
    const rates = all.map(({ megabits }) => megabits);
    return [
      `${data}+${servers.length - data}`,
      (servers.length / data).toFixed(2),
      median(rates),
      Math.min(...rates),
      `${(100 * median(all.map(({ redundant }) => redundant))).toFixed(1)}%`,
      median(all.map(({ requests }) => requests)),
    ];
  });
  return {
    title: `Codes over six servers, client in ${client}, 2 connections to each`,
    columns: [
      'code',
      'stored, times the file',
      'Mbit/s',
      'worst',
      'more than the file',
      'requests',
    ],
    rows,
  };
}

/** Series in the pictures: one block size of each algorithm. */
const SHOWN: ReadonlySet<string> = new Set([
  'LOCI basic, 2 MiB',
  'LOCI aggressive, 2 MiB',
  'LOCI progress-driven, 2 MiB',
  'Millrace progress',
]);

/** Plots the series with two connections to each server. */
function plot(client: ClientName, series: readonly Series[]): Plot {
  const shown = series.filter((s) => s.client === client && s.threads === 2 && SHOWN.has(s.name));
  return {
    title: `Two connections to each server, client in ${client}`,
    x: 'replicas',
    y: 'Mbit/s',
    series: shown.map(({ name, megabits }) => ({
      name,
      points: megabits.map((rate, i) => [i + 1, rate] as [number, number]),
    })),
  };
}
