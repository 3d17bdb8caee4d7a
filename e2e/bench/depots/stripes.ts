/**
 * `npm run bench -- stripes [--downloads N] [--seed S]`: a file in 4 shards of data and 2 of parity,
 * of whose six depots any two are killed at random times during each download. With `--slow N`, none
 * is killed: each depot sends 2 MiB/s, and one of those with data an N-th of that.
 */

import { createHash, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
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
/** Bytes per second of a depot behind a front, and the pause between two pieces that it sends. */
const PACED_BYTES = 2 * 1024 * 1024;
const PIECE_MS = 20;
const DEPOTS = 6;
/** Downloads without a kill at the beginning, and others between two further ones. */
const HEALTHY = 3;
const BETWEEN = 5;
/** Longest time of a download with kills, as a multiple of a healthy one's. */
const GOAL = 1.15;
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
    options: { downloads: { type: 'string' }, seed: { type: 'string' }, slow: { type: 'string' } },
  });
  const downloads = Number(values.downloads ?? DOWNLOADS);
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  if (!Number.isSafeInteger(downloads) || downloads < 1 || !Number.isSafeInteger(seed)) {
    process.stderr.write('--downloads and --seed are whole numbers\n');
    return 2;
  }
  const slow = values.slow === undefined ? undefined : Number(values.slow);
  if (slow !== undefined && !(slow >= 1)) {
    process.stderr.write('--slow is a number from 1\n');
    return 2;
  }
  process.stderr.write(`${downloads} downloads, --seed ${seed}\n`);
  const folder = await temporaryFolder();
  const campaign = new Campaign(folder.path, seededRandom(seed));
  try {
    await campaign.store(slow !== undefined);
    if (slow !== undefined) return await campaign.slowDown(slow, downloads);
    const healthy = await campaign.run(HEALTHY, undefined);
    const within = median(healthy.map(({ ms }) => ms));
    const samples: Sample[] = [];
    // The machine may become slower or faster meanwhile: healthy downloads come between the others.
    while (samples.length < downloads) {
      const left = downloads - samples.length;
      samples.push(...(await campaign.run(Math.min(BETWEEN, left), within)));
      healthy.push(...(await campaign.run(1, undefined)));
    }
    const usual = median(healthy.map(({ ms }) => ms));
    const late = samples.filter(({ ms }) => ms > GOAL * usual).length;
    const right = samples.filter(({ isRight }) => isRight).length;
    const slowest = Math.max(...samples.map(({ ms }) => ms));
    const received = Math.max(...samples.map((sample) => sample.received));
    const middle = median(samples.map(({ ms }) => ms));
    process.stdout.write(
      [
        '| 4+2, two of six killed during each download | |',
        '|---|---|',
        `| right files | ${right} of ${downloads} |`,
        `| healthy, median of ${healthy.length} | ${seconds(usual)} |`,
        `| median | ${seconds(middle)}, ${(middle / usual).toFixed(2)}x |`,
        `| slowest | ${seconds(slowest)}, ${(slowest / usual).toFixed(2)}x |`,
        `| more than ${GOAL} times the healthy ones | ${late} |`,
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
  readonly #fronts: PacedFront[] = [];
  readonly #digest: string;
  readonly #content: Buffer;

  constructor(folder: string, random: Random) {
    this.#folder = folder;
    this.#random = random;
    this.#content = contentOf('in coded shards', BYTES);
    this.#digest = sha256(this.#content);
  }

  /**
   * Starts the depots, and stores the file.
   *
   * @param isPaced true for depots behind fronts with a rate
   */
  async store(isPaced: boolean): Promise<void> {
    const proof = createHash('sha256').update(TOKEN).digest('hex');
    await writeFile(this.#path('owners'), `bench sha256:${proof}\n`);
    await writeFile(this.#path('token'), TOKEN);
    await writeFile(this.#path('file.bin'), this.#content);
    for (let depot = 0; depot < DEPOTS; depot++) {
      const front = isPaced ? await PacedFront.listen() : undefined;
      const edge = await this.#start(depot, 0, front?.url);
      this.#edges.push(edge);
      if (front !== undefined) this.#fronts.push(front.to(edge.url));
    }
    const edges = [...this.#edges, ...this.#fronts]
      .slice(-DEPOTS)
      .flatMap(({ url }) => ['--edge', url]);
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

  /** Downloads from depots of one rate, and with one that is slower. @returns the exit status */
  async slowDown(factor: number, downloads: number): Promise<number> {
    for (const front of this.#fronts) front.bytesPerSecond = PACED_BYTES;
    const healthy = await this.run(downloads, undefined);
    (this.#fronts[1] as PacedFront).bytesPerSecond = PACED_BYTES / factor;
    const slow = await this.run(downloads, undefined);
    const row = (name: string, samples: readonly Sample[]) => {
      const middle = seconds(median(samples.map(({ ms }) => ms)));
      const received = Math.max(...samples.map((sample) => sample.received)).toFixed(3);
      const right = samples.filter(({ isRight }) => isRight).length;
      return `| ${name} | ${right} of ${downloads} | ${middle} | ${received}x |`;
    };
    process.stdout.write(
      [
        '| 4+2 | right files | median | most bytes received |',
        '|---|---|---|---|',
        row('healthy', healthy),
        row(`one depot at 1/${factor} of the speed`, slow),
        '',
      ].join('\n'),
    );
    return [...healthy, ...slow].every(({ isRight }) => isRight) ? 0 : 1;
  }

  async end(): Promise<void> {
    for (const front of this.#fronts) front.close();
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
    const limit = this.#fronts.length === 0 ? ['--limit', LIMIT] : [];
    const getting = ['get', this.#path('file.exnode'), '-o', path, ...limit, '--json'];
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

  #start(depot: number, port: number, address?: string): Promise<EdgeProcess> {
    const disk = ['--depot-dir', this.#path(`depot-${depot}`), '--depot-quota', '256MiB'];
    const owners = ['--depot-owners-file', this.#path('owners'), '--client-requests', '0'];
    const where = port === 0 ? [] : ['--port', String(port)];
    const called = address === undefined ? [] : ['--public-url', address];
    return EdgeProcess.start([...disk, ...owners, ...where, ...called, '--log-level', 'warn']);
  }

  get #env(): Record<string, string> {
    return { MILLRACE_STATE: this.#path('state') };
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

/** Stands before a depot, and sends what it answers at a rate of all connections together. */
class PacedFront {
  bytesPerSecond = Infinity;
  #target = '';
  #freeAt = 0;
  readonly #server = createServer((request, response) => {
    const { method, headers, url } = request;
    const onward = httpRequest(`${this.#target}${url}`, { method, headers }, async (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.on('close', () => answer.destroy());
      for await (const bytes of answer as AsyncIterable<Buffer>) {
        const step = Math.max(1024, (this.bytesPerSecond * PIECE_MS) / 1000);
        for (let at = 0; at < bytes.length; at += step) {
          const piece = bytes.subarray(at, at + step);
          const now = performance.now();
          this.#freeAt = Math.max(now, this.#freeAt) + (piece.length * 1000) / this.bytesPerSecond;
          if (this.#freeAt > now) await sleep(this.#freeAt - now);
          if (response.destroyed) return;
          response.write(piece);
        }
      }
      response.end();
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });

  static async listen(): Promise<PacedFront> {
    const front = new PacedFront();
    await once(front.#server.listen(0, '127.0.0.1'), 'listening');
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets the depot that it stands before. */
  to(target: string): this {
    this.#target = target;
    return this;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
