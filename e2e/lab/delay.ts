/** Runs the program that delays packets as links do (delay.c), which is compiled on first use. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Link, queueBytes } from './links.ts';

const SOURCE = fileURLToPath(new URL('delay.c', import.meta.url));
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/lab', import.meta.url));
/** The device's name in the router. */
export const DELAY_DEVICE = 'delay';

/** Statistics of the program. */
export interface DelayStats {
  /** Packets passed since the last query. */
  readonly passed: number;
  /** Packets dropped on purpose. */
  readonly lost: number;
  /** Packets dropped because a queue was full. */
  readonly full: number;
  /** Packets dropped for lack of memory, or refused by the kernel: should be none. */
  readonly refused: number;
  /** Mean unintended delay of packets since the last query, milliseconds. */
  readonly meanLateMs: number;
  /** Longest unintended delay since the last query, milliseconds. */
  readonly maxLateMs: number;
}

/** Bytes of packets, including headers. */
export interface LinkQueue {
  readonly bytes: number;
  readonly sentBytes: number;
}

export class Delay {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  }

  /** Starts the program. @throws Error if it cannot be compiled or has no TUN device */
  static async start(namespace: string, seed: number): Promise<Delay> {
    const program = await compile();
    const args = ['netns', 'exec', namespace, program, DELAY_DEVICE, String(seed)];
    const child = spawn('ip', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const delay = new Delay(child);
    await delay.#line();
    return delay;
  }

  /** Sets the link that packets from and to an address pass from now on. */
  set(address: string, link: Link): void {
    const kbit = (mbit: number | undefined) => Math.round((mbit ?? 0) * 1000);
    const queue = (mbit: number | undefined) =>
      mbit === undefined ? 0 : Math.round((queueBytes(mbit, link) * 8) / mbit);
    const { upMbit: up, downMbit: down } = link;
    const microseconds = Math.round(((link.rttMs ?? 0) / 2) * 1000);
    const parts = Math.round((link.loss ?? 0) * 1e6);
    const values = [microseconds, parts, kbit(up), kbit(down), queue(up), queue(down)];
    this.#child.stdin?.write(`set ${address} ${values.join(' ')}\n`);
  }

  /** Has packets from and to an address pass another address's link from now on. */
  alias(address: string, other: string): void {
    this.#child.stdin?.write(`alias ${address} ${other}\n`);
  }

  /** Queries the statistics. Run one query at a time. */
  async stats(): Promise<DelayStats> {
    return (await this.#ask('stats')) as DelayStats;
  }

  /**
   * Queries the bytes that wait before the link to an address, and the bytes that have passed it.
   */
  async queue(address: string): Promise<LinkQueue> {
    return (await this.#ask(`queue ${address}`)) as LinkQueue;
  }

  async #ask(command: string): Promise<unknown> {
    const line = this.#line();
    this.#child.stdin?.write(`${command}\n`);
    return JSON.parse(await line);
  }

  async #line(): Promise<string> {
    const line = await Promise.race([
      once(this.#lines, 'line').then(([text]) => String(text)),
      once(this.#child, 'exit').then(() => undefined),
    ]);
    if (line === undefined) throw new Error('the program that delays packets has ended');
    return line;
  }
}

/** Compiles the program. @returns its path */
async function compile(): Promise<string> {
  const digest = createHash('sha256')
    .update(await readFile(SOURCE))
    .digest('hex');
  const program = join(CACHE, `delay-${digest.slice(0, 16)}`);
  if (existsSync(program)) return program;
  await mkdir(CACHE, { recursive: true });
  const made = `${program}.${process.pid}`;
  await promisify(execFile)('cc', ['-O2', '-o', made, SOURCE]);
  await rename(made, program);
  return program;
}
