/**
 * `npm run bench -- coded-memory [--mib N]`: peak memory and processor time of `millrace get` for a file in
 * 4+2 shards, with all depots and with two dead ones, beside the same file as one copy, plain and
 * encrypted, by its exNode and by its URL.
 */

import { createHash, randomBytes } from 'node:crypto';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CLI } from '../../fixtures/programs/main-files.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { runProgram } from '../measuring/program-run.ts';

const DEPOTS = 6;
const DEFAULT_MIB = 400;
const MIB = 1024 * 1024;
const TOKEN = 'token-of-the-benchmark';

/** Measures downloads. @returns the exit status: 1 if a file is wrong */
export async function codedMemory(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { mib: { type: 'string' } } });
  const size = Number(values.mib ?? DEFAULT_MIB);
  if (!Number.isSafeInteger(size) || size < 1) {
    process.stderr.write('--mib is a whole number\n');
    return 2;
  }
  const folder = await temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  const edges: EdgeProcess[] = [];
  const env = { MILLRACE_STATE: at('state') };
  try {
    const digest = await writeRandom(at('file.bin'), size);
    const proof = createHash('sha256').update(TOKEN).digest('hex');
    await writeFile(at('owners'), `bench sha256:${proof}\n`);
    await writeFile(at('token'), TOKEN);
    for (let i = 0; i < DEPOTS; i++) {
      edges.push(
        await EdgeProcess.start([
          ...['--depot-dir', at(`depot-${i}`), '--depot-quota', `${3 * size + 64}MiB`],
          ...['--depot-owners-file', at('owners'), '--client-requests', '0'],
          ...['--log-level', 'warn'],
        ]),
      );
    }
    const store = async (to: readonly EdgeProcess[], name: string, ...options: string[]) => {
      const depots = to.flatMap(({ url }) => ['--edge', url]);
      const more = ['--token-file', at('token'), '-o', at(name), '--json', ...options];
      const uploaded = await runCli(['upload', at('file.bin'), ...depots, ...more], env);
      if (uploaded.code !== 0) throw new Error(uploaded.stdout + uploaded.stderr);
    };
    await store(edges, 'coded.exnode', '--stripe', '4+2');
    await store(edges.slice(2, 3), 'plain.exnode');
    await store(edges.slice(2, 3), 'encrypted.exnode', '--encrypt');
    const document = JSON.parse(await readFile(at('plain.exnode'), 'utf8'));
    const url = document.extents[0].shards[0][0].read as string;
    const rows: string[] = [];
    let isRight = true;
    const measure = async (name: string, from: string) => {
      const to = at('got.bin');
      const getting = [CLI, 'get', from, '-o', to, '--quiet'];
      const { seconds, cpuSeconds, peakBytes } = await runProgram(process.execPath, getting, env);
      isRight &&= (await digestOf(to)) === digest;
      await rm(to);
      const figures = [
        ...[`${Math.round(peakBytes / MIB)} MiB`, `${cpuSeconds.toFixed(2)} s`],
        `${seconds.toFixed(1)} s`,
      ];
      rows.push(`| ${name} | ${figures.join(' | ')} |`);
    };
    await measure('one copy, by its URL', url);
    await measure('one copy, by its exNode', at('plain.exnode'));
    await measure('one encrypted copy, by its exNode', at('encrypted.exnode'));
    await measure('4+2', at('coded.exnode'));
    for (const edge of edges.slice(0, 2)) await edge.stop('SIGKILL');
    await measure('4+2, two depots with data dead', at('coded.exnode'));
    const head = `| ${size} MiB with \`millrace get\` | peak memory | processor time | time |`;
    process.stdout.write([head, '|---|---|---|---|', ...rows, ''].join('\n'));
    if (!isRight) process.stderr.write('a file is wrong\n');
    return isRight ? 0 : 1;
  } finally {
    for (const edge of edges) await edge.stop('SIGKILL');
    await folder.remove();
  }
}

/** Writes a file of random bytes. @param mib its length @returns its SHA-256 */
async function writeRandom(path: string, mib: number): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'w');
  try {
    for (let i = 0; i < mib; i++) {
      const bytes = randomBytes(MIB);
      hash.update(bytes);
      await file.write(bytes);
    }
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path);
  try {
    for await (const bytes of file.createReadStream()) hash.update(bytes as Buffer);
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}
