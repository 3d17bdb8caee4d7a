/**
 * A file to depots and back over a path of 50 ms: to one depot on a fast line, beside curl and nginx, and to three
 * depots, each on a line of a third of the client's. Start-up counts: users wait for it too.
 */

import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CertificatePair, makeCertificate } from '../../fixtures/origins/certificate.ts';
import { contentOf } from '../../fixtures/origins/content.ts';
import { type Experiment, type ExperimentOptions, repeated } from '../experiment.ts';
import type { Host, Run } from '../host.ts';
import { Lab } from '../lab.ts';
import { EDGE_PORT, runCurl, runMillrace, startEdge, startNginx } from '../programs.ts';
import { digestOf } from '../received.ts';
import { type Findings, median, rounded } from '../report.ts';

/** Lines of the client, Mbit/s, and of each of the depots that share it. */
const CLIENT_MBIT = 1000;
const SHARED_MBIT = 100;
const RTT_MS = 50;
/** Seconds that a file takes on a full line. */
const SECONDS = 5;
const TOKEN = 'token-of-the-laboratory';

interface Part {
  readonly name: string;
  readonly depots: number;
  /** Line of each depot, Mbit/s. */
  readonly megabits: number;
}

const PARTS: readonly Part[] = [
  { name: 'one', depots: 1, megabits: CLIENT_MBIT },
  { name: 'three', depots: 3, megabits: SHARED_MBIT },
];

interface Sample {
  readonly part: string;
  readonly what: string;
  /** Mbit/s, and the share of all lines together, 0 to 1. */
  readonly megabits: number;
  readonly share: number;
  readonly cpuSeconds: number;
  readonly right: boolean;
}

export const depots: Experiment = {
  name: 'depots',
  title: 'A file to depots and back, beside curl and nginx',
  runs: 5,
  parts: PARTS.map(({ name }) => name),
  needsLab: true,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const only = options.only ?? [''];
  const picked = PARTS.filter(({ name }) => only.some((begin) => name.startsWith(begin)));
  let lateMs = 0;
  const samples = await repeated(options, async (seed, say) => {
    const all: Sample[] = [];
    for (const part of picked) {
      say(part.name);
      await using lab = await Lab.open({ seed });
      all.push(...(await measure(lab, part, options.slow)));
      lateMs = Math.max(lateMs, (await lab.delayStats())?.meanLateMs ?? 0);
    }
    return all;
  });
  const kinds = [...new Set(samples.map(({ part, what }) => `${part}: ${what}`))];
  return {
    conditions: {
      'line of the client': `${CLIENT_MBIT / options.slow} Mbit/s, round trip ${RTT_MS} ms`,
      'lines of three depots': `${SHARED_MBIT / options.slow} Mbit/s each`,
      'packets late by (mean)': `${lateMs.toFixed(2)} ms`,
    },
    tables: [
      {
        title: 'Median (least to most)',
        columns: ['', 'Mbit/s', 'of the lines', 'processor seconds'],
        rows: kinds.map((kind) => {
          const own = samples.filter(({ part, what }) => kind === `${part}: ${what}`);
          const share = median(own.map((sample) => sample.share));
          return [
            kind,
            spreadOf(own.map(({ megabits }) => megabits)),
            `${(share * 100).toFixed(0)}%`,
            spreadOf(own.map(({ cpuSeconds }) => cpuSeconds)),
          ];
        }),
      },
    ],
    plots: [],
    notes: [`Wrong or failed: ${samples.filter(({ right }) => !right).length}.`],
    raw: samples,
  };
}

async function measure(lab: Lab, { name, depots: count, megabits }: Part, slow: number) {
  const line = (mbit: number) => ({ downMbit: mbit / slow, upMbit: mbit / slow });
  const client = lab.host('client', { ...line(CLIENT_MBIT), rttMs: RTT_MS });
  const hosts = Array.from({ length: count }, (_, i) =>
    lab.host(`depot-${i + 1}`, count === 1 ? {} : line(megabits)),
  );
  const lines = (count * megabits) / slow;
  const bytes = Math.round((lines * 1e6 * SECONDS) / 8);
  const path = (file: string) => join(lab.folder, file);
  const content = contentOf('depots', bytes);
  const digest = createHash('sha256').update(content).digest('hex');
  await writeFile(path('file.bin'), content);
  const addresses = hosts.map(({ address }) => address);
  const pair = makeCertificate(lab.folder, 'depots', addresses);
  const urls = await Promise.all(hosts.map((host) => startDepot(lab, host, pair)));
  await writeFile(path('token'), TOKEN);
  const samples: Sample[] = [];
  const note = async (what: string, ran: Run, got?: string) => {
    const isRight = got === undefined || (await digestOf(path(got))) === digest;
    const rate = (bytes * 8) / 1e6 / ran.seconds;
    samples.push({
      ...{ part: name, what, megabits: rate, share: rate / lines, cpuSeconds: ran.cpuSeconds },
      right: ran.code === 0 && isRight,
    });
    if (got !== undefined) await rm(path(got), { force: true });
  };
  const env = { MILLRACE_STATE: path('state'), NODE_EXTRA_CA_CERTS: pair.cert };
  if (count === 1) {
    const root = path('www');
    await mkdir(root);
    await startNginx(hosts[0] as Host, {
      ...{ dir: path('nginx'), root },
      server: `listen 443 ssl; ssl_certificate ${pair.cert}; ssl_certificate_key ${pair.key};
        dav_methods PUT; client_max_body_size 0; client_body_temp_path temp;`,
    });
    const url = `https://${addresses[0]}/file.bin`;
    const trust = ['--cacert', pair.cert];
    const put = ['-T', path('file.bin'), ...trust];
    await note('upload, curl to nginx', await runCurl(client, url, '/dev/null', put));
    const got = await runCurl(client, url, path('by-curl'), trust);
    await note('download, curl from nginx', got, 'by-curl');
  }
  const edges = urls.flatMap((url) => ['--edge', url]);
  const upload = ['upload', path('file.bin'), ...edges, '--token-file', path('token')];
  const exnode = ['--copies', '1', '-o', path('file.exnode')];
  await note('upload, Millrace', await runMillrace(client, [...upload, ...exnode], { env }));
  const get = ['get', '--quiet', path('file.exnode'), '-o', path('got')];
  await note('download, Millrace', await runMillrace(client, get, { env }), 'got');
  return samples;
}

/** Starts an edge that is a depot. @returns its URL */
async function startDepot(lab: Lab, host: Host, pair: CertificatePair): Promise<string> {
  const owners = join(lab.folder, 'owners');
  const proof = createHash('sha256').update(TOKEN).digest('hex');
  await writeFile(owners, `laboratory sha256:${proof}\n`);
  const url = `https://${host.address}:${EDGE_PORT}`;
  await startEdge(host, [
    ...['--depot-dir', join(lab.folder, host.name), '--depot-owners-file', owners],
    ...['--depot-quota', '4GiB', '--client-requests', '0', '--public-url', url],
    ...['--tls-cert', pair.cert, '--tls-key', pair.key],
  ]);
  return url;
}

function spreadOf(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${rounded(median(values))} (${rounded(least)} to ${rounded(most)})`;
}
