/**
 * One large file from one server over long, fast and lossy paths, by curl, aria2c and Millrace, one
 * after the other on the same path. Start-up counts: users wait for it too.
 */

import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentOf } from '../../fixtures/origins/content.ts';
import { edgeKernelImpossible } from '../edge-kernel.ts';
import { type Experiment, type ExperimentOptions, repeated } from '../experiment.ts';
import type { Host, Run } from '../host.ts';
import { Lab } from '../lab.ts';
import { runAria2, runCurl, runMillrace, startNginx } from '../programs.ts';
import { digestOf, storedBytes } from '../received.ts';
import { type Findings, median, rounded, type Table } from '../report.ts';
import { pair } from '../topologies.ts';

const FILE_BYTES = 100_000_000;
/** Longest run; a slower program counts with the bytes that it has stored by then. */
const MOST_MS = 20_000;

interface Path {
  readonly name: string;
  readonly megabits: number;
  readonly rttMs: number;
  /** Share of packets lost on the way to the client, 0 to 1. */
  readonly loss: number;
  readonly congestion: 'cubic' | 'bbr';
}

const LOSSES = [0, 0.001, 0.01];
const PATHS: readonly Path[] = (['cubic', 'bbr'] as const).flatMap((congestion) =>
  LOSSES.map((loss) => ({
    name: `${congestion} ${loss * 100}%`,
    megabits: 200,
    rttMs: 50,
    loss,
    congestion,
  })),
);

interface Tool {
  readonly name: string;
  download(host: Host, url: string, dir: string): Promise<Run>;
}

const limits = { timeoutMs: MOST_MS };
const TOOLS: readonly Tool[] = [
  { name: 'curl', download: (host, url, dir) => runCurl(host, url, join(dir, 'file'), [], limits) },
  {
    name: 'aria2c -x16',
    download: (host, url, dir) =>
      runAria2(host, ['-d', dir, '-o', 'file', '-x16', '-s16', '-k1M', url], limits),
  },
  {
    name: 'Millrace',
    download: (host, url, dir) => runMillrace(host, ['get', '--quiet', '-d', dir, url], limits),
  },
];

interface Sample {
  readonly path: string;
  readonly tool: string;
  readonly megabits: number;
  readonly cpuSeconds: number;
  /** True if the file is right; undefined if it was not complete in time. */
  readonly right: boolean | undefined;
  /** Packets dropped because the queue before the line was full. */
  readonly dropped: number;
}

export const paths: Experiment = {
  name: 'paths',
  title: 'One file over long and lossy paths, beside curl and aria2c',
  runs: 5,
  parts: PATHS.map(({ name }) => name),
  needsLab: true,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const without = await edgeKernelImpossible();
  const able = PATHS.filter(({ congestion }) => congestion !== 'bbr' || without === undefined);
  const only = options.only ?? [''];
  const picked = able.filter(({ name }) => only.some((part) => name.startsWith(part)));
  const content = contentOf('paths', FILE_BYTES);
  const digest = createHash('sha256').update(content).digest('hex');
  let by = '';
  let lateMs = 0;
  const samples = await repeated(options, async (seed, say) => {
    const all: Sample[] = [];
    for (const path of picked) {
      say(path.name);
      await using lab = await Lab.open({ seed, congestion: path.congestion });
      by = lab.delayedBy;
      const line = { downMbit: path.megabits, upMbit: path.megabits };
      const { client, server } = pair(lab, {
        client: { ...line, rttMs: path.rttMs, loss: path.loss },
        server: {},
      });
      const root = join(lab.folder, 'www');
      await mkdir(root);
      await writeFile(join(root, 'file'), content);
      const nginx = await startNginx(server, { dir: join(lab.folder, 'nginx'), root });
      for (const tool of TOOLS) {
        const dir = join(lab.folder, 'got');
        await mkdir(dir);
        await lab.delayStats();
        const ran = await tool.download(client, `${nginx.url}/file`, dir);
        const stats = await lab.delayStats();
        lateMs = Math.max(lateMs, stats?.meanLateMs ?? 0);
        all.push({
          path: path.name,
          tool: tool.name,
          dropped: stats?.full ?? 0,
          ...(await sampleOf(ran, dir, digest)),
        });
        await rm(dir, { recursive: true });
      }
    }
    return all;
  });
  return {
    conditions: {
      file: `${FILE_BYTES / 1e6} MB`,
      line: '200 Mbit/s, round trip 50 ms',
      'delayed by': by,
      'packets late by (mean)': `${lateMs.toFixed(2)} ms`,
    },
    tables: [
      table('Mbit/s, with start-up: median (least to most)', samples, picked, (s) => s.megabits),
      table('Processor seconds', samples, picked, (s) => s.cpuSeconds),
      table('Packets dropped before the line', samples, picked, (s) => s.dropped),
    ],
    plots: [],
    notes: [
      `A program that is not done after ${MOST_MS / 1000} s counts with the bytes that it has stored by then.`,
      `Wrong files: ${samples.filter(({ right }) => right === false).length}.`,
      ...(without === undefined ? [] : [`Paths with BBR are left out: ${without}.`]),
    ],
    raw: samples,
  };
}

async function sampleOf(ran: Run, dir: string, digest: string) {
  const complete = ran.code === 0;
  const bytes = complete ? FILE_BYTES : await storedBytes(dir, FILE_BYTES);
  return {
    megabits: (bytes * 8) / 1e6 / ran.seconds,
    right: complete ? (await digestOf(join(dir, 'file'))) === digest : undefined,
    cpuSeconds: ran.cpuSeconds,
  };
}

function table(
  title: string,
  samples: readonly Sample[],
  paths: readonly Path[],
  figure: (sample: Sample) => number,
): Table {
  return {
    title,
    columns: ['', ...paths.map(({ name }) => name)],
    rows: TOOLS.map(({ name: tool }) => [
      tool,
      ...paths.map(({ name: path }) => {
        const own = samples.filter((s) => s.path === path && s.tool === tool).map(figure);
        const least = rounded(Math.min(...own));
        return `${rounded(median(own))} (${least} to ${rounded(Math.max(...own))})`;
      }),
    ]),
  };
}
