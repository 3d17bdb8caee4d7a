/**
 * `npm run bench -- depot`: uploads to a depot beside those to nginx (its module for WebDAV) and to
 * a server of the tus protocol, with curl over loopback; and the start of a depot with 100,000 files.
 * In memory first, so that the programs are compared, then on the disk: there the depot alone waits
 * until the bytes are durable.
 */

import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Nginx } from '../../fixtures/origins/nginx.ts';
import { ListeningProgram } from '../../fixtures/programs/listening-program.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { cpuSeconds } from '../measuring/measure.ts';
import type { Stage } from '../measuring/stage.ts';

const RUNS = 5;
const FILES = 100_000;
const WRITTEN_AT_ONCE = 64;
const TOKEN = 'token-of-the-benchmark';
const TUS = fileURLToPath(new URL('../measuring/tus-server.ts', import.meta.url));
const AUTHORIZATION = ['-H', `Authorization: Bearer ${TOKEN}`];

/** A server that files are sent to. */
interface Server {
  readonly name: string;
  readonly pid: number;
  /** Sends the file, and leaves none at the server. @returns seconds */
  send(): Promise<number>;
}

interface Sample {
  readonly seconds: number;
  readonly cpu: number;
}

/** Measures uploads and the start. @returns the result as Markdown */
export async function depot(stage: Stage): Promise<string> {
  const disk = await temporaryFolder();
  try {
    const rows: string[] = [];
    for (const [where, folder] of [
      ['memory', stage.folder('uploads')],
      ['disk', join(disk.path, 'uploads')],
    ] as const) {
      await mkdir(folder);
      rows.push(...(await uploads(stage, where, folder)));
      await rm(folder, { recursive: true });
    }
    return [
      '| files in | server | MB/s | to nginx | CPU-s/GB |',
      '|---|---|---|---|---|',
      ...rows,
      '',
      await start(join(disk.path, 'start')),
    ].join('\n');
  } finally {
    await disk.remove();
  }
}

async function uploads(stage: Stage, where: string, folder: string): Promise<string[]> {
  await using running = new AsyncDisposableStack();
  const owners = join(folder, 'owners');
  const proof = createHash('sha256').update(TOKEN).digest('hex');
  await writeFile(owners, `bench sha256:${proof}\n`);
  const edge = await EdgeProcess.start(
    [
      ...['--depot-dir', join(folder, 'depot'), '--depot-owners-file', owners],
      ...['--depot-quota', '2GiB', '--client-requests', '0', '--log-level', 'warn'],
    ],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  running.defer(() => edge.stop().then(() => undefined));
  const root = join(folder, 'dav');
  await mkdir(root);
  const nginx = await Nginx.start({
    ...{ dir: join(folder, 'nginx'), root },
    server: 'dav_methods PUT DELETE; client_max_body_size 0; client_body_temp_path temp;',
  });
  running.defer(() => nginx.stop());
  const tusDir = join(folder, 'tus');
  await mkdir(tusDir);
  const tus = await ListeningProgram.start(process.execPath, (port) => [TUS, String(port), tusDir]);
  running.defer(() => tus.stop());
  const servers: Server[] = [
    { name: 'nginx', pid: nginx.pid, send: () => toNginx(stage, `${nginx.url}/file.bin`) },
    { name: 'depot', pid: edge.pid, send: () => toDepot(stage, edge.url) },
    {
      name: '@tus/server',
      pid: tus.pid,
      send: () => toTus(stage, `http://127.0.0.1:${tus.port}/files`),
    },
  ];
  const samples = new Map<string, Sample[]>(servers.map(({ name }) => [name, []]));
  for (let run = 0; run <= RUNS; run++) {
    for (const { name, pid, send } of servers) {
      const before = await cpuSeconds([pid]);
      const seconds = await send();
      const cpu = (await cpuSeconds([pid])) - before;
      // The first run warms everything up.
      if (run > 0) samples.get(name)?.push({ seconds, cpu });
    }
    process.stderr.write(`${where}: run ${run} of ${RUNS}\n`);
  }
  const middle = (name: string, figure: keyof Sample) =>
    (samples.get(name) ?? []).map((s) => s[figure]).sort((a, b) => a - b)[RUNS >> 1] as number;
  return servers.map(({ name }) => {
    const rate = stage.fileBytes / 1e6 / middle(name, 'seconds');
    const ratio = middle('nginx', 'seconds') / middle(name, 'seconds');
    const cpu = middle(name, 'cpu') / (stage.fileBytes / 1e9);
    return `| ${where} | ${name} | ${rate.toFixed(0)} | ${ratio.toFixed(2)}x | ${cpu.toFixed(2)} |`;
  });
}

const fileOf = (stage: Stage) => stage.folder(`www${stage.filePath}`);

/** Runs curl. @returns what it has printed */
async function curl(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('curl', ['-sS', '--fail', ...args]);
  return stdout.trim();
}

async function toNginx(stage: Stage, url: string): Promise<number> {
  const seconds = Number(await curl('-T', fileOf(stage), '-w', '%{time_total}', url));
  await curl('-X', 'DELETE', url);
  return seconds;
}

/** Reserves, appends, and releases again: the time is that of the append. */
async function toDepot(stage: Stage, edge: string): Promise<number> {
  const wanted = JSON.stringify({ bytes: stage.fileBytes, seconds: 3600 });
  const links = JSON.parse(await curl(...AUTHORIZATION, '-d', wanted, `${edge}/-/depot`));
  const fields = [
    ...['-H', 'Content-Type: application/partial-upload', '-H', 'Upload-Offset: 0'],
    ...['-H', 'Upload-Complete: ?1'],
  ];
  const answer = ['-o', '/dev/null', '-w', '%{time_total}'];
  const seconds = await curl('-X', 'PATCH', '-T', fileOf(stage), ...fields, ...answer, links.write);
  await curl('-X', 'DELETE', links.manage);
  return Number(seconds);
}

async function toTus(stage: Stage, endpoint: string): Promise<number> {
  const version = ['-H', 'Tus-Resumable: 1.0.0'];
  const length = ['-H', `Upload-Length: ${stage.fileBytes}`];
  const made = ['-o', '/dev/null', '-w', '%header{location}'];
  const url = await curl('-X', 'POST', ...version, ...length, ...made, endpoint);
  const fields = [
    ...['-H', 'Content-Type: application/offset+octet-stream', '-H', 'Upload-Offset: 0'],
  ];
  const answer = ['-o', '/dev/null', '-w', '%{time_total}'];
  const seconds = await curl(
    '-X',
    'PATCH',
    '-T',
    fileOf(stage),
    ...version,
    ...fields,
    ...answer,
    url,
  );
  await curl('-X', 'DELETE', ...version, url);
  return Number(seconds);
}

/**
 * Measures how a depot with many files starts, beside an empty one: until it listens, and until it knows
 * all files and answers for them.
 */
async function start(dir: string): Promise<string> {
  await fill(dir);
  const rows: string[] = [];
  for (const [name, folder] of [
    ['none', `${dir}-empty`],
    [String(FILES), dir],
  ] as const) {
    const listening: number[] = [];
    const known: number[] = [];
    let bytes = 0;
    for (let run = 0; run < RUNS; run++) {
      const begunAt = performance.now();
      const edge = await EdgeProcess.start(['--depot-dir', folder], {
        MILLRACE_POISON_MEMORY: '0',
      });
      listening.push((performance.now() - begunAt) / 1000);
      await edge.logged(/the allocations of the depot are known/);
      known.push((performance.now() - begunAt) / 1000);
      bytes = Math.max(bytes, await edge.peakBytes());
      await edge.stop();
    }
    const [first, all] = [listening, known].map((seconds) => {
      const middle = seconds.sort((a, b) => a - b)[RUNS >> 1] as number;
      return `${middle.toFixed(2)} s`;
    });
    rows.push(`| ${name} | ${first} | ${all} | ${(bytes / 1e6).toFixed(0)} MB |`);
  }
  const head = ['| files in the depot | listens | knows all | peak memory |', '|---|---|---|---|'];
  return [...head, ...rows].join('\n');
}

/** Writes files as a depot does, but lets the system choose when they reach the disk. */
async function fill(dir: string): Promise<void> {
  const proofs = ['read', 'write', 'manage'].map((kind) => [kind, '0'.repeat(64)]);
  const now = Date.now();
  let left = FILES;
  const next = async () => {
    for (; left > 0; left--) {
      const id = randomBytes(12);
      const hex = id.toString('hex');
      const folder = join(dir, 'objects', hex.slice(0, 2), hex.slice(2));
      await mkdir(folder, { recursive: true });
      const head = {
        ...{ format: 1, id: id.toString('base64url'), owner: 'bench', resumable: true },
        ...{ proofs: Object.fromEntries(proofs), bytes: 0, grows: false, name: 'file.bin' },
        ...{ createdAt: now, expiresAt: now + 86_400_000 },
        final: { length: 0, sha256: createHash('sha256').digest('hex'), at: now },
      };
      await writeFile(join(folder, 'head'), JSON.stringify(head));
      for (const name of ['data', 'sums']) await writeFile(join(folder, name), '');
    }
  };
  await Promise.all(Array.from({ length: WRITTEN_AT_ONCE }, next));
}
