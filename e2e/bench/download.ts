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
import { makeCertificate } from '../fixtures/origins/certificate.ts';
import { contentOf } from '../fixtures/origins/content.ts';
import { Nginx } from '../fixtures/origins/nginx.ts';
import { type ProgramRun, runProgram } from './measuring/program-run.ts';
import type { Stage } from './measuring/stage.ts';

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

/** Measures both programs. @returns the result as a Markdown table */
export async function download(stage: Stage): Promise<string> {
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
  const tables: string[] = [];
  for (const tls of [undefined, pair]) {
    const nginx = await Nginx.start({ dir: stage.folder('download-origin'), root, tls });
    running.defer(() => nginx.stop());
    const url = `${nginx.url}/${FILE_NAME}`;
    tables.push(await compared(stage, digest, url, pair.cert));
    await nginx.stop();
  }
  return tables.join('\n\nWith TLS:\n\n');
}

/** Compares both programs at one server. @returns the result as a Markdown table */
async function compared(
  stage: Stage,
  digest: string,
  url: string,
  certificate: string,
): Promise<string> {
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
  const runs: { readonly ours: ProgramRun; readonly theirs: ProgramRun }[] = [];
  while (runs.length < MAX_RUNS) {
    if (runs.length >= MIN_RUNS && performance.now() - startedAt > BUDGET_MS) break;
    const [mine, other] = [await inTurn(once, ours), await inTurn(once, theirs)];
    runs.push({ ours: mine, theirs: other });
    process.stderr.write(`download: run ${runs.length}\n`);
  }
  return report(
    runs.map((run) => run.ours),
    runs.map((run) => run.theirs),
  );
}

async function inTurn(
  once: (program: Program) => Promise<{ run: ProgramRun; remove(): Promise<void> }>,
  program: Program,
): Promise<ProgramRun> {
  const { run, remove } = await once(program);
  await remove();
  return run;
}

function report(mine: readonly ProgramRun[], other: readonly ProgramRun[]): string {
  const row = (
    name: string,
    of: (run: ProgramRun) => number,
    digits: number,
    goal: (ours: number, ratio: number) => readonly [boolean, string],
  ) => {
    const [a, b] = [median(mine.map(of)), median(other.map(of))];
    const [met, text] = goal(a, a / b);
    const cells = [name, a.toFixed(digits), b.toFixed(digits), `${(a / b).toFixed(2)}x`];
    return `| ${[...cells, text, met ? 'met' : 'MISSED'].join(' | ')} |`;
  };
  return [
    `Medians of ${mine.length} runs each, in turn.`,
    '',
    '| | Millrace | aria2c -x16 -s16 | ratio | goal | |',
    '|---|---|---|---|---|---|',
    row(
      'MB/s',
      (run) => FILE_BYTES / 1e6 / run.seconds,
      0,
      (_, r) => [r >= 1, 'at least 1.00x'],
    ),
    row(
      'CPU-s',
      (run) => run.cpuSeconds,
      2,
      (_, r) => [r <= 1.3, 'at most 1.30x'],
    ),
    row(
      'resident MB',
      (run) => run.peakBytes / 1e6,
      0,
      (o) => [o <= 120, 'at most 120'],
    ),
  ].join('\n');
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
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
