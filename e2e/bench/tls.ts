/**
 * Measures the cost of TLS and HTTP/2: one edge with a file in memory, and the same client (h2load)
 * without TLS, with TLS and HTTP/1.1, and with HTTP/2, in turn.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { makeCertificate } from '../fixtures/origins/certificate.ts';
import { EdgeProcess } from '../fixtures/programs/processes.ts';
import { cpuSeconds } from './measuring/measure.ts';
import type { Stage } from './measuring/stage.ts';

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

interface Figures {
  /** GB (10^9 bytes) per second. */
  readonly throughput: number;
  /** Processor seconds of the edge per GB. */
  readonly cpuPerGb: number;
}

/** Measures all three. @returns the result as a Markdown table */
export async function tls(stage: Stage): Promise<string> {
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
  const rows: string[] = [];
  for (const load of LOADS) {
    const samples = new Map<string, Figures[]>(ways.map(({ name }) => [name, []]));
    for (let run = 0; run < RUNS; run++) {
      for (const way of ways) {
        samples.get(way.name)?.push(await measured(edge, stage, way, load));
      }
      process.stderr.write(`${load.name}: run ${run + 1} of ${RUNS}\n`);
    }
    rows.push(row(load.name, samples));
  }
  return [
    '| | plain GB/s | TLS GB/s | h2 GB/s | h2 to TLS | plain CPU-s/GB | TLS CPU-s/GB | h2 CPU-s/GB | h2 to TLS |',
    `|---|${'---|'.repeat(8)}`,
    ...rows,
  ].join('\n');
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

function row(name: string, samples: ReadonlyMap<string, readonly Figures[]>): string {
  const middle = (way: string, figure: keyof Figures) =>
    (samples.get(way) ?? []).map((s) => s[figure]).sort((a, b) => a - b)[RUNS >> 1] as number;
  const cells = (['throughput', 'cpuPerGb'] as const).flatMap((figure) => {
    const [plain, secure, h2] = ['plain', 'tls', 'h2'].map((way) => middle(way, figure)) as [
      number,
      number,
      number,
    ];
    return [
      ...[plain, secure, h2].map((value) => value.toFixed(2)),
      `${(h2 / secure).toFixed(2)}x`,
    ];
  });
  return `| ${name} | ${cells.join(' | ')} |`;
}
