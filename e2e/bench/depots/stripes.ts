/**
 * `npm run bench -- stripes [--downloads N] [--seed S]`: a file in 4 shards of data and 2 of parity,
 * of whose six depots any two are killed at random times during each download.
 */

import { createHash, randomInt } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Random, seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import {
  CliProcess,
  EdgeProcess,
  runCli,
  temporaryFolder,
} from '../../fixtures/programs/processes.ts';

const DOWNLOADS = 10;
const BYTES = 48 * 1024 * 1024;
/** Limit of each download, so that depots die in the middle of it. */
const LIMIT = '16M';
const DEPOTS = 6;
const HEALTHY = 3;
const TOKEN = 'token-of-the-benchmark';

interface Sample {
  readonly ms: number;
  readonly isRight: boolean;
  /** Bytes received, of those of the file. */
  readonly received: number;
}

/** Measures the downloads. @returns the exit status: 1 if a file is wrong or lacks */
export async function stripes(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { downloads: { type: 'string' }, seed: { type: 'string' } },
  });
  const downloads = Number(values.downloads ?? DOWNLOADS);
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  if (!Number.isSafeInteger(downloads) || downloads < 1 || !Number.isSafeInteger(seed)) {
    process.stderr.write('--downloads and --seed are whole numbers\n');
    return 2;
  }
  process.stderr.write(`${downloads} downloads, --seed ${seed}\n`);
  const folder = await temporaryFolder();
  const campaign = new Campaign(folder.path, seededRandom(seed));
  try {
    await campaign.store();
    const healthy = await campaign.run(HEALTHY, undefined);
    const usual = median(healthy.map(({ ms }) => ms));
    const samples = await campaign.run(downloads, usual);
    const right = samples.filter(({ isRight }) => isRight).length;
    const slowest = Math.max(...samples.map(({ ms }) => ms));
    const received = Math.max(...samples.map((sample) => sample.received));
    const middle = median(samples.map(({ ms }) => ms));
    process.stdout.write(
      [
        '| 4+2, two of six killed during each download | |',
        '|---|---|',
        `| right files | ${right} of ${downloads} |`,
        `| healthy, median of ${HEALTHY} | ${seconds(usual)} |`,
        `| median | ${seconds(middle)}, ${(middle / usual).toFixed(2)}x |`,
        `| slowest | ${seconds(slowest)}, ${(slowest / usual).toFixed(2)}x |`,
        `| most bytes received | ${received.toFixed(3)}x of the file |`,
        '',
      ].join('\n'),
    );
    return right === downloads ? 0 : 1;
  } finally {
    await campaign.end();
    await folder.remove();
  }
}

class Campaign {
  readonly #folder: string;
  readonly #random: Random;
  readonly #edges: EdgeProcess[] = [];
  readonly #digest: string;
  readonly #content: Buffer;

  constructor(folder: string, random: Random) {
    this.#folder = folder;
    this.#random = random;
    this.#content = contentOf('in coded shards', BYTES);
    this.#digest = sha256(this.#content);
  }

  /** Starts the depots, and stores the file. */
  async store(): Promise<void> {
    const proof = createHash('sha256').update(TOKEN).digest('hex');
    await writeFile(this.#path('owners'), `bench sha256:${proof}\n`);
    await writeFile(this.#path('token'), TOKEN);
    await writeFile(this.#path('file.bin'), this.#content);
    for (let depot = 0; depot < DEPOTS; depot++) this.#edges.push(await this.#start(depot, 0));
    const edges = this.#edges.flatMap(({ url }) => ['--edge', url]);
    const options = ['--stripe', '4+2', '--token-file', this.#path('token')];
    const exnode = ['-o', this.#path('file.exnode')];
    const { code, stderr } = await runCli(
      ['upload', this.#path('file.bin'), ...edges, ...options, ...exnode],
      this.#env,
    );
    if (code !== 0) throw new Error(`the upload has failed: ${stderr}`);
  }

  /** Makes downloads. @param killsWithin time in which two depots are killed; undefined: none is */
  async run(count: number, killsWithin: number | undefined): Promise<Sample[]> {
    const samples: Sample[] = [];
    for (let i = 1; i <= count; i++) {
      const killed = killsWithin === undefined ? [] : this.#draw(killsWithin);
      const sample = await this.#download(killed);
      samples.push(sample);
      const who = killed.map(({ depot, ms }) => `${depot} at ${seconds(ms)}`).join(', ');
      const verdict = sample.isRight ? 'right' : 'WRONG';
      const fate = who === '' ? 'none killed' : `killed ${who}`;
      process.stderr.write(`${i} of ${count}: ${verdict}, ${seconds(sample.ms)}; ${fate}\n`);
      for (const { depot } of killed) {
        const port = Number(new URL((this.#edges[depot] as EdgeProcess).url).port);
        this.#edges[depot] = await this.#start(depot, port);
      }
    }
    return samples;
  }

  async end(): Promise<void> {
    for (const edge of this.#edges) await edge.stop('SIGKILL');
  }

  /** Draws two depots, and when they die. */
  #draw(withinMs: number): { readonly depot: number; readonly ms: number }[] {
    const depots = Array.from({ length: DEPOTS }, (_, depot) => ({ depot, rank: this.#random() }));
    const drawn = depots.sort((a, b) => a.rank - b.rank).slice(0, 2);
    return drawn.map(({ depot }) => ({ depot, ms: this.#random() * withinMs }));
  }

  async #download(killed: readonly { readonly depot: number; readonly ms: number }[]) {
    const path = this.#path('got.bin');
    const startedAt = performance.now();
    const getting = ['get', this.#path('file.exnode'), '-o', path, '--limit', LIMIT, '--json'];
    const run = new CliProcess(getting, this.#env);
    const kills = killed.map(async ({ depot, ms }) => {
      await sleep(ms);
      await this.#edges[depot]?.stop('SIGKILL');
    });
    const { code, stdout } = await run.result;
    const ms = performance.now() - startedAt;
    await Promise.all(kills);
    const bytes = await readFile(path).catch(() => Buffer.of());
    await rm(path, { force: true });
    const isRight = code === 0 && sha256(bytes) === this.#digest;
    if (!isRight) process.stderr.write(stdout);
    const last = stdout.trim().split('\n').at(-1) ?? '{}';
    const { receivedBytes = 0 } = JSON.parse(last) as { receivedBytes?: number };
    return { ms, isRight, received: receivedBytes / BYTES };
  }

  #start(depot: number, port: number): Promise<EdgeProcess> {
    const disk = ['--depot-dir', this.#path(`depot-${depot}`), '--depot-quota', '256MiB'];
    const owners = ['--depot-owners-file', this.#path('owners'), '--client-requests', '0'];
    const where = port === 0 ? [] : ['--port', String(port)];
    return EdgeProcess.start([...disk, ...owners, ...where, '--log-level', 'warn']);
  }

  get #env(): Record<string, string> {
    return { MILLRACE_STATE: this.#path('state') };
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
