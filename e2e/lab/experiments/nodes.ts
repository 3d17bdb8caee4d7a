/**
 * WORLDS tables 1 and 2: clients one after the other and all at once, from the origin over one
 * connection, over ten, and through a network of edges, both for the first time and again.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentOf } from '../../fixtures/origins/content.ts';
import { type Experiment, type ExperimentOptions, repeated } from '../experiment.ts';
import { Gate } from '../gate.ts';
import type { Host, Run } from '../host.ts';
import { Lab } from '../lab.ts';
import { runAria2, runCurl, runMillrace, startEdge, startNginx } from '../programs.ts';
import { type Findings, mean, median, percentile } from '../report.ts';

const FILE_BYTES = 10_000_000;
/** Rate of the origin's line: the paper's origin has two lines of 45 Mbit/s, this one has one. */
const ORIGIN_MEGABITS = 45;
const EDGES = 4;
const EDGE = { downMbit: 100, upMbit: 100, rttMs: 10 };
/** Round trips of table 1, minus those of the servers' own lines. */
const PINGS_MS = [6, 35, 51, 67, 85];
const CLIENT_MEGABITS = 30;
/** Share of packets lost on the way to a client. */
const LOSS = 0.0005;
const TIMEOUT_MS = 180_000;

/** Ways of fetching. */
const WAYS = [
  'direct',
  'ten connections',
  'edges, first',
  'edges, cached',
  'millrace get, cached',
] as const;
type Way = (typeof WAYS)[number];

interface Sample {
  readonly way: Way;
  readonly pingMs: number;
  /** True if all clients fetched at once. */
  readonly together: boolean;
  readonly megabits: number;
  readonly failed: boolean;
}

export const nodes: Experiment = {
  name: 'nodes',
  title: 'One client and many, from the origin and through edges (WORLDS tables 1 and 2)',
  runs: 1,
  needsLab: true,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const samples = await repeated(options, measure);
  const rates = (together: boolean, way: Way, pingMs?: number) =>
    samples
      .filter((s) => s.together === together && s.way === way)
      .filter((s) => pingMs === undefined || s.pingMs === pingMs)
      .map((s) => s.megabits);
  return {
    conditions: {
      file: `${FILE_BYTES / 1e6} MB`,
      origin: `${ORIGIN_MEGABITS} Mbit/s`,
      edges: `${EDGES} of 100 Mbit/s, one network`,
      clients: `${CLIENT_MEGABITS} Mbit/s, loss ${100 * LOSS}% in each direction`,
    },
    tables: [
      {
        title: 'One client at a time: Mbit/s',
        columns: ['ping ms', ...WAYS],
        rows: PINGS_MS.map((ping) => [ping, ...WAYS.map((way) => median(rates(false, way, ping)))]),
      },
      {
        title: `${2 * PINGS_MS.length} clients at once: Mbit/s`,
        columns: ['', '25%', 'median', 'mean', '75%'],
        rows: WAYS.map((way) => {
          const all = rates(true, way);
          return [way, percentile(all, 0.25), median(all), mean(all), percentile(all, 0.75)];
        }),
      },
    ],
    plots: [],
    notes: [
      `Of ${samples.length} downloads ${samples.filter(({ failed }) => failed).length} failed.`,
      'Direct and edges: curl, which uses a single edge; ten connections: aria2c. Each way fetches its own file, so no way profits from chunks that another one cached.',
    ],
    raw: samples,
  };
}

interface Stage {
  readonly lab: Lab;
  readonly origin: string;
  readonly edges: readonly string[];
}

async function measure(seed: number, say: (line: string) => void): Promise<Sample[]> {
  await using lab = await Lab.open({ seed });
  const origin = lab.host('origin', { upMbit: ORIGIN_MEGABITS });
  const root = join(lab.folder, 'www');
  await mkdir(root);
  await writeFile(join(root, 'file'), contentOf('nodes', FILE_BYTES));
  const nginx = await startNginx(origin, { dir: join(lab.folder, 'nginx'), root });
  const hosts = Array.from({ length: EDGES }, (_, i) => lab.host(`edge-${i + 1}`, EDGE));
  const secret = join(lab.folder, 'secret');
  await writeFile(secret, 'the secret of a laboratory\n');
  const peers = hosts.map(({ address }) => `${address}:3125`).join(',');
  const edges: string[] = [];
  for (const host of hosts) {
    const own = ['--name', host.name, '--peers', peers, '--secret-file', secret];
    const more = ['--public-url', `http://${host.address}:3125`, '--allow-origin', origin.address];
    edges.push((await startEdge(host, [...own, ...more])).url);
  }
  for (const [i, url] of edges.entries()) await peered(hosts[i] as Host, url);
  const stage = { lab, origin: nginx.url, edges };
  const clients = [...PINGS_MS, ...PINGS_MS].map((pingMs, i) => ({
    pingMs,
    host: lab.host(`client-${i + 1}`, { downMbit: CLIENT_MEGABITS, rttMs: pingMs, loss: LOSS }),
  }));
  const samples: Sample[] = [];
  for (const [i, client] of clients.slice(0, PINGS_MS.length).entries()) {
    say(`one client, ping ${client.pingMs} ms`);
    for (const way of WAYS) samples.push(...(await together(stage, [client], way, `?one=${i}`)));
  }
  for (const way of WAYS) {
    say(`all clients: ${way}`);
    samples.push(...(await together(stage, clients, way, '?all')));
  }
  return samples;
}

/** Resolves when an edge can use all others. */
async function peered(host: Host, url: string): Promise<void> {
  for (let usable = 0; usable < EDGES - 1; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { peers } = JSON.parse(await host.get(`${url}/-/status`)) as {
      peers: { member: boolean; usable: boolean }[];
    };
    usable = peers.filter((p) => p.member && p.usable).length;
  }
}

interface Client {
  readonly host: Host;
  readonly pingMs: number;
}

async function together(
  stage: Stage,
  clients: readonly Client[],
  way: Way,
  query: string,
): Promise<Sample[]> {
  const gate = new Gate();
  const running = clients.map(async ({ host, pingMs }, i) => {
    const dir = join(stage.lab.folder, host.name);
    await mkdir(dir);
    const run = await fetchBy(way, host, dir, stage, i, query, gate);
    await rm(dir, { recursive: true });
    const megabits = (FILE_BYTES * 8) / 1e6 / run.seconds;
    return { way, pingMs, together: clients.length > 1, megabits, failed: run.code !== 0 };
  });
  await gate.open();
  return await Promise.all(running);
}

function fetchBy(
  way: Way,
  host: Host,
  dir: string,
  stage: Stage,
  i: number,
  query: string,
  gate: Gate,
): Promise<Run> {
  const options = { gate, timeoutMs: TIMEOUT_MS };
  const url = `${stage.origin}/file${query}`;
  const edge = stage.edges[i % stage.edges.length] as string;
  const output = join(dir, 'file');
  switch (way) {
    case 'direct':
      return runCurl(host, url, output, [], options);
    case 'ten connections':
      return runAria2(host, ['-d', dir, '-o', 'file', '-x10', '-s10', '-k1M', url], options);
    case 'edges, first':
    case 'edges, cached':
      return runCurl(host, `${edge}/${url}`, output, [], options);
    case 'millrace get, cached':
      return runMillrace(host, ['get', '--quiet', '-o', output, '--edge', edge, url], options);
  }
}
