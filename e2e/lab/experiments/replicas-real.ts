/**
 * Some points of LOCI figure 3 over real links, to validate the simulation: `millrace get` and
 * aria2c from nginx servers with the simulation's lines.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCI_DEFAULTS } from '@millrace/shared/download/request/request';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { type Experiment, type ExperimentOptions, repeated } from '../experiment.ts';
import { Gate } from '../gate.ts';
import type { Host, Run } from '../host.ts';
import { Lab } from '../lab.ts';
import { runAria2, runMillrace, startNginx } from '../programs.ts';
import { type Findings, median } from '../report.ts';
import { type Algorithm, download } from '../virtual/replica-download.ts';
import { CLIENTS } from '../virtual/servers.ts';

const FILE_BYTES = 50 * 1024 * 1024;
const SERVERS = CLIENTS.Tennessee;
/** Numbers of replicas: before and with the very slow server, after it, and with the near one. */
const REPLICAS = [2, 3, 4, 5];
const MODES = ['ours', 'basic', 'aggressive', 'progress'] as const;
/** Our own algorithm, or one of the paper's. */
type Mode = (typeof MODES)[number];
const THREADS = 2;
const TIMEOUT_MS = 120_000;

interface Sample {
  readonly program: string;
  readonly replicas: number;
  readonly megabits: number;
  readonly right: boolean;
}

export const replicasReal: Experiment = {
  name: 'replicas-real',
  title: 'Replicas over real links, beside the simulation (LOCI figure 3)',
  runs: 1,
  needsLab: true,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const samples = await repeated(options, measure);
  const programs = [...new Set(samples.map(({ program }) => program))];
  const real = (program: string, replicas: number) =>
    median(
      samples
        .filter((s) => s.program === program && s.replicas === replicas)
        .map(({ megabits }) => megabits),
    );
  return {
    conditions: {
      file: '50 MiB',
      servers: SERVERS.slice(0, 5)
        .map(({ id, megabits, rttMs }) => `${id} ${megabits} Mbit/s ${rttMs} ms`)
        .join(', '),
      connections: `${THREADS} to each server`,
    },
    tables: [
      {
        title: 'Mbit/s with replicas, over real links',
        columns: ['', ...REPLICAS.map(String)],
        rows: programs.map((program) => [program, ...REPLICAS.map((n) => real(program, n))]),
      },
      {
        title: 'The same in virtual time, with rates that never change',
        columns: ['', ...REPLICAS.map(String)],
        rows: MODES.map((mode) => [
          nameOf(mode),
          ...REPLICAS.map((n) => simulated(n, algorithmOf(mode), options.seed)),
        ]),
      },
    ],
    plots: [],
    notes: [
      `Of ${samples.length} downloads ${samples.filter((s) => !s.right).length} did not have the right bytes.`,
      'Real links carry headers as well: 100 Mbit/s of packets are 95 of file. aria2c is given all servers, two connections to each, and pieces of 1 MiB.',
    ],
    raw: samples,
  };
}

const nameOf = (mode: Mode) => (mode === 'ours' ? 'Millrace' : `LOCI ${mode}`);

function algorithmOf(mode: Mode): Algorithm {
  return mode === 'ours'
    ? { by: 'millrace', mode: 'progress' }
    : { by: 'paper', ...LOCI_DEFAULTS[mode] };
}

function simulated(replicas: number, algorithm: Algorithm, seed: number): number {
  const servers = SERVERS.slice(0, replicas);
  return download({ servers, algorithm, threads: THREADS, seed, steady: true }).megabits;
}

async function measure(seed: number, say: (line: string) => void): Promise<Sample[]> {
  await using lab = await Lab.open({ seed });
  const root = join(lab.folder, 'www');
  await mkdir(root);
  const content = contentOf('replicas', FILE_BYTES);
  const digest = sha256(content);
  await writeFile(join(root, 'file'), content);
  const urls: string[] = [];
  for (const { id, megabits, rttMs } of SERVERS.slice(0, Math.max(...REPLICAS))) {
    const host = lab.host(id, { upMbit: megabits, rttMs });
    urls.push(`${(await startNginx(host, { dir: join(lab.folder, id), root })).url}/file`);
  }
  const client = lab.host('client');
  const samples: Sample[] = [];
  for (const replicas of REPLICAS) {
    const own = urls.slice(0, replicas);
    for (const program of [...MODES, 'aria2c'] as const) {
      say(`${replicas} replicas, ${program}`);
      const dir = join(lab.folder, 'downloads');
      await mkdir(dir);
      const run =
        program === 'aria2c'
          ? await aria2(client, dir, own)
          : await millrace(client, dir, own, program);
      const right = run.code === 0 && (await digestOf(client, join(dir, 'file'))) === digest;
      await rm(dir, { recursive: true });
      const name = program === 'aria2c' ? program : nameOf(program);
      samples.push({
        program: name,
        replicas,
        megabits: (FILE_BYTES * 8) / 1e6 / run.seconds,
        right,
      });
    }
  }
  return samples;
}

async function millrace(
  host: Host,
  dir: string,
  urls: readonly string[],
  mode: Mode,
): Promise<Run> {
  const [url = '', ...mirrors] = urls;
  const gate = new Gate();
  const connections = String(urls.length * THREADS);
  const running = runMillrace(
    host,
    [
      ...['get', '--quiet', '-d', dir, '--connections', connections],
      ...(mode === 'ours' ? [] : ['--redundancy', mode]),
      ...['--connections-per-host', String(THREADS)],
      ...mirrors.flatMap((mirror) => ['--mirror', mirror]),
      url,
    ],
    { gate, timeoutMs: TIMEOUT_MS },
  );
  await gate.open();
  return await running;
}

function aria2(host: Host, dir: string, urls: readonly string[]): Promise<Run> {
  const split = String(urls.length * THREADS);
  const args = ['-d', dir, '-o', 'file', '-s', split, '-x', String(THREADS), '-k1M', ...urls];
  return runAria2(host, args, { timeoutMs: TIMEOUT_MS });
}

async function digestOf(host: Host, path: string): Promise<string> {
  return (await host.run('sha256sum', [path])).stdout.slice(0, 64);
}
