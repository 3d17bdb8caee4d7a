/**
 * `millrace get` against `aria2c -x16 -s16`: one file from nginx, over loopback, into memory, without
 * TLS and with it.
 */

import { spawnSync } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { BarChart } from '../charts/chart.ts';
import { ranged, spread } from '../charts/spread.ts';
import { makeCertificate } from '../fixtures/origins/certificate.ts';
import { contentOf } from '../fixtures/origins/content.ts';
import { Nginx } from '../fixtures/origins/nginx.ts';
import { type ProgramRun, runProgram } from './measuring/program-run.ts';
import type { Stage } from './measuring/stage.ts';
import type { Result } from './measuring/table.ts';

const CLI = fileURLToPath(new URL('../../desktop/cli/main.ts', import.meta.url));
const FILE_NAME = 'file.bin';
const PIECE_BYTES = 64 * 1024 * 1024;
const FILE_BYTES = 16 * PIECE_BYTES;
const MIN_RUNS = 3;
const MAX_RUNS = 9;
/** Time after which no run begins, so that each half takes less than a minute and a half. */
const BUDGET_MS = 60_000;

type Program = (url: string, dir: string, certificate: string) => Promise<ProgramRun>;

const ours: Program = (url, dir, certificate) =>
  runProgram(process.execPath, [CLI, 'get', url, '-d', dir, '--quiet'], {
    NODE_EXTRA_CA_CERTS: certificate,
  });

/** Runs aria2c without allocating space beforehand, which would count against it. */
const theirs: Program = (url, dir, certificate) =>
  runProgram('aria2c', [
    ...['-q', '-x16', '-s16', '--file-allocation=none', '-d', dir],
    ...[`--ca-certificate=${certificate}`, url],
  ]);

/** Measures both programs. @returns tables and pictures, or the reason for their absence */
export async function download(stage: Stage): Promise<string | Result> {
  if (spawnSync('aria2c', ['--version']).status !== 0) {
    return 'NOT MEASURED: aria2c is not installed, there is nothing to compare with.';
  }
  await using running = new AsyncDisposableStack();
  const root = stage.folder('download-www');
  const digest = await makeFile(root);
  running.defer(() => rm(root, { recursive: true }));
  const certificates = stage.folder('download-certificate');
  await mkdir(certificates);
  const pair = makeCertificate(certificates, 'download');
  const rows: Compared[] = [];
  for (const tls of [undefined, pair]) {
    const nginx = await Nginx.start({ dir: stage.folder('download-origin'), root, tls });
    running.defer(() => nginx.stop());
    const url = `${nginx.url}/${FILE_NAME}`;
    const runs = await compared(stage, digest, url, pair.cert);
    rows.push({ name: tls === undefined ? 'without TLS' : 'with TLS', runs });
    await nginx.stop();
  }
  return {
    text: rows.map(({ runs }) => report(runs)).join('\n\nWith TLS:\n\n'),
    rows,
    charts: FIGURES.map((figure) => chart(rows, figure)),
  };
}

/** One run of each program. */
interface Pair {
  readonly ours: ProgramRun;
  readonly theirs: ProgramRun;
}

interface Compared {
  readonly name: string;
  readonly runs: readonly Pair[];
}

/** Compares both programs at one server. @returns all runs */
async function compared(
  stage: Stage,
  digest: string,
  url: string,
  certificate: string,
): Promise<Pair[]> {
  const once = async (program: Program) => {
    const dir = stage.folder('download-here');
    await mkdir(dir);
    const run = await program(url, dir, certificate);
    const path = join(dir, FILE_NAME);
    return { run, path, remove: () => rm(dir, { recursive: true }) };
  };

  const startedAt = performance.now();
  for (const program of [ours, theirs]) {
    const { path, remove } = await once(program);
    if ((await digestOf(path)) !== digest) throw new Error('the file is not what was sent');
    await remove();
  }
  const runs: Pair[] = [];
  while (runs.length < MAX_RUNS) {
    if (runs.length >= MIN_RUNS && performance.now() - startedAt > BUDGET_MS) break;
    const [mine, other] = [await inTurn(once, ours), await inTurn(once, theirs)];
    runs.push({ ours: mine, theirs: other });
    process.stderr.write(`download: run ${runs.length}\n`);
  }
  return runs;
}

async function inTurn(
  once: (program: Program) => Promise<{ run: ProgramRun; remove(): Promise<void> }>,
  program: Program,
): Promise<ProgramRun> {
  const { run, remove } = await once(program);
  await remove();
  return run;
}

interface Figure {
  readonly name: string;
  readonly digits: number;
  readonly better: 'more' | 'less';
  readonly of: (run: ProgramRun) => number;
  /** Judges our median and its ratio to theirs. @returns the verdict, and the goal in words */
  readonly goal: (ours: number, ratio: number) => readonly [boolean, string];
}

const FIGURES: readonly Figure[] = [
  {
    ...{ name: 'MB/s', digits: 0, better: 'more' },
    of: (run) => FILE_BYTES / 1e6 / run.seconds,
    goal: (_, ratio) => [ratio >= 1, 'at least 1.00x'],
  },
  {
    ...{ name: 'CPU-s', digits: 2, better: 'less' },
    of: (run) => run.cpuSeconds,
    goal: (_, ratio) => [ratio <= 1.3, 'at most 1.30x'],
  },
  {
    ...{ name: 'resident MB', digits: 0, better: 'less' },
    of: (run) => run.peakBytes / 1e6,
    goal: (ours) => [ours <= 120, 'at most 120'],
  },
];

function report(runs: readonly Pair[]): string {
  const row = ({ name, digits, of, goal }: Figure) => {
    const [a, b] = [
      spread(runs.map((run) => of(run.ours))),
      spread(runs.map((run) => of(run.theirs))),
    ];
    const ratio = a.value / b.value;
    const [met, text] = goal(a.value, ratio);
    const cells = [name, ranged(a, digits), ranged(b, digits), `${ratio.toFixed(2)}x`];
    return `| ${[...cells, text, met ? 'met' : 'MISSED'].join(' | ')} |`;
  };
  return [
    `Medians of ${runs.length} runs each, in turn, with their ranges.`,
    '',
    '| | Millrace | aria2c -x16 -s16 | ratio | goal | |',
    '|---|---|---|---|---|---|',
    ...FIGURES.map(row),
  ].join('\n');
}

function chart(rows: readonly Compared[], { name, better, of }: Figure): BarChart {
  return {
    title: '1 GiB from nginx over loopback, into memory',
    unit: name,
    better,
    range: `least and most of ${rows.map(({ runs }) => runs.length).join(' and ')} runs`,
    series: ['millrace get', 'aria2c -x16 -s16'],
    groups: rows.map(({ name: way, runs }) => ({
      name: way,
      bars: [spread(runs.map((run) => of(run.ours))), spread(runs.map((run) => of(run.theirs)))],
    })),
  };
}

/** Writes the file. @returns its SHA-256, hexadecimal */
async function makeFile(root: string): Promise<string> {
  await mkdir(root);
  const hash = createHash('sha256');
  const file = await open(join(root, FILE_NAME), 'w');
  for (let at = 0; at < FILE_BYTES; at += PIECE_BYTES) await writePiece(file, hash, at);
  await file.close();
  return hash.digest('hex');
}

async function writePiece(file: FileHandle, hash: Hash, at: number): Promise<void> {
  const piece = contentOf(`download ${at}`, PIECE_BYTES);
  hash.update(piece);
  await file.write(piece, 0, piece.length, at);
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest('hex');
}
