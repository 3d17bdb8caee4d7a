/**
 * Measures the cost of TLS and HTTP/2: one edge with a file in memory, and the same client (h2load)
 * without TLS, with TLS and HTTP/1.1, and with HTTP/2, in turn.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { BarChart } from '../charts/chart.ts';
import { ranged, type Spread, spread } from '../charts/spread.ts';
import { makeCertificate } from '../fixtures/origins/certificate.ts';
import { EdgeProcess } from '../fixtures/programs/processes.ts';
import { cpuSeconds } from './measuring/measure.ts';
import type { Stage } from './measuring/stage.ts';
import type { Result } from './measuring/table.ts';

const CACHE_BYTES = 640 * 1024 * 1024;
const RUNS = 5;
const RUN_DEADLINE_MS = 180_000;

/** Loads; the last one uses one connection for all requests. */
const LOADS = [
  { name: '1 client', clients: 1, requests: 4, streams: 1 },
  { name: '8 clients', clients: 8, requests: 8, streams: 1 },
  { name: '8 requests on 1 connection', clients: 1, requests: 8, streams: 8 },
] as const;

interface Way {
  readonly name: 'plain' | 'tls' | 'h2';
  readonly options: readonly string[];
  readonly url: string;
}

/** The ways in the order of columns. */
const WAYS = ['plain', 'tls', 'h2'] as const;

interface Figures {
  /** GB (10^9 bytes) per second. */
  readonly throughput: number;
  /** Processor seconds of the edge per GB. */
  readonly cpuPerGb: number;
}

/** Measures all three. @returns table and pictures */
export async function tls(stage: Stage): Promise<Result> {
  const { cert, key } = makeCertificate(stage.root, 'bench');
  await using running = new AsyncDisposableStack();
  const edge = await EdgeProcess.start(
    [
      ...['--tls-cert', cert, '--tls-key', key, '--http-port', '0', '--allow-origin', '127.0.0.1'],
      ...['--cache-memory', String(CACHE_BYTES), '--log-level', 'warn'],
    ],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  running.defer(() => edge.stop().then(() => undefined));
  const path = `/${stage.origin.url}${stage.filePath}`;
  // Windows of the size that browsers and curl use: 16 MiB per stream, more per connection.
  const windows = ['-w', '24', '-W', '27'];
  const ways: Way[] = [
    { name: 'plain', options: ['--h1'], url: edge.url + path },
    { name: 'tls', options: ['--h1'], url: edge.secureUrl + path },
    { name: 'h2', options: windows, url: edge.secureUrl + path },
  ];
  for (const way of ways) await measured(edge, stage, way, LOADS[0]);
  const rows: Measured[] = [];
  for (const load of LOADS) {
    const samples = new Map<string, Figures[]>(ways.map(({ name }) => [name, []]));
    for (let run = 0; run < RUNS; run++) {
      for (const way of ways) {
        samples.get(way.name)?.push(await measured(edge, stage, way, load));
      }
      process.stderr.write(`${load.name}: run ${run + 1} of ${RUNS}\n`);
    }
    rows.push({ name: load.name, samples: Object.fromEntries(samples) });
  }
  const text = [
    '| | plain GB/s | TLS GB/s | h2 GB/s | h2 to TLS | plain CPU-s/GB | TLS CPU-s/GB | h2 CPU-s/GB | h2 to TLS |',
    `|---|${'---|'.repeat(8)}`,
    ...rows.map(row),
  ].join('\n');
  return { text, rows, charts: [chart(rows, 'throughput'), chart(rows, 'cpuPerGb')] };
}

/** All samples of one load, by way. */
interface Measured {
  readonly name: string;
  readonly samples: Readonly<Record<string, readonly Figures[]>>;
}

const spreadOf = ({ samples }: Measured, way: Way['name'], figure: keyof Figures): Spread =>
  spread((samples[way] ?? []).map((sample) => sample[figure]));

function chart(rows: readonly Measured[], figure: keyof Figures): BarChart {
  const isSpeed = figure === 'throughput';
  return {
    title: 'One edge without TLS, with TLS, and with HTTP/2',
    unit: isSpeed ? 'GB/s' : "CPU-s/GB, the edge's",
    better: isSpeed ? 'more' : 'less',
    range: `least and most of ${RUNS} runs`,
    series: ['plain', 'TLS', 'HTTP/2'],
    groups: rows.map((one) => ({
      name: one.name,
      bars: WAYS.map((way) => spreadOf(one, way, figure)),
    })),
  };
}

async function measured(
  edge: EdgeProcess,
  stage: Stage,
  { options, url }: Way,
  { clients, requests, streams }: (typeof LOADS)[number],
): Promise<Figures> {
  const before = await cpuSeconds([edge.pid]);
  const counts = ['-n', `${requests}`, '-c', `${clients}`, '-m', `${streams}`];
  const { stdout } = await promisify(execFile)('h2load', [...options, ...counts, url], {
    timeout: RUN_DEADLINE_MS,
  });
  const cpu = (await cpuSeconds([edge.pid])) - before;
  if (!stdout.includes(` ${requests} succeeded`)) throw new Error(`h2load:\n${stdout}`);
  const [, number = '', unit = ''] = /finished in ([\d.]+)(ms|s)/.exec(stdout) ?? [];
  const seconds = Number(number) / (unit === 'ms' ? 1000 : 1);
  const gigabytes = (requests * stage.fileBytes) / 1e9;
  return { throughput: gigabytes / seconds, cpuPerGb: cpu / gigabytes };
}

function row(one: Measured): string {
  const cells = (['throughput', 'cpuPerGb'] as const).flatMap((figure) => {
    const all = WAYS.map((way) => spreadOf(one, way, figure));
    const [, secure, h2] = all.map(({ value }) => value) as [number, number, number];
    return [...all.map((way) => ranged(way, 2)), `${(h2 / secure).toFixed(2)}x`];
  });
  return `| ${one.name} | ${cells.join(' | ')} |`;
}
