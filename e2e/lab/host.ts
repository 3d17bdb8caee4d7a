/** A machine of the laboratory: a network namespace with one port, connected to the router. */

import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import type { Gate } from './gate.ts';
import type { Link } from './links.ts';

export interface SpawnOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface RunOptions extends SpawnOptions {
  /** The program begins when this gate opens. */
  readonly gate?: Gate;
  /** True if the program waits for the gate itself, with preload.mjs; otherwise a shell does. */
  readonly waitsItself?: boolean;
  /** Time after which the program is killed; default ten minutes. */
  readonly timeoutMs?: number;
}

/** Result of a program. */
export interface Run {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Seconds from the start, or from the gate's opening, until the end. */
  readonly seconds: number;
  /** User and system time, including children; 0 for killed programs, whose time is unknown. */
  readonly cpuSeconds: number;
}

const TIMEOUT_MS = 600_000;
/** Optionally waits for a line, runs the program, and reports its time on descriptor 3. */
const RUNNER = `[ "$1" = 0 ] || read -r line || exit 125
shift
"$@"
code=$?
times >&3
exit $code`;

export class Host {
  readonly name: string;
  readonly address: string;
  readonly namespace: string;
  /** Name of the host's port at the router. */
  readonly port: string;
  link: Link;
  readonly #mark: Readonly<Record<string, string>>;

  /** @param mark environment variables of all programs in the host */
  constructor(o: {
    readonly name: string;
    readonly address: string;
    readonly namespace: string;
    readonly port: string;
    readonly link: Link;
    readonly mark: Readonly<Record<string, string>>;
  }) {
    this.name = o.name;
    this.address = o.address;
    this.namespace = o.namespace;
    this.port = o.port;
    this.link = o.link;
    this.#mark = o.mark;
  }

  /** Starts a program. The returned child is the program's own process. */
  spawn(
    command: string,
    args: readonly string[],
    options: SpawnOptions & {
      readonly stdio?: StdioOptions;
      /** If true, the program leads a process group of its own. */
      readonly detached?: boolean;
    } = {},
  ): ChildProcess {
    // `ip` replaces itself with the program, so the child is the program.
    return spawn('ip', ['netns', 'exec', this.namespace, command, ...args], {
      stdio: options.stdio ?? ['ignore', 'pipe', 'pipe'],
      detached: options.detached ?? false,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: { ...process.env, ...options.env, ...this.#mark },
    });
  }

  /** Runs a program to its end. */
  async run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Run> {
    const { gate, waitsItself = false } = options;
    const shellWaits = gate !== undefined && !waitsItself;
    const child = this.spawn(
      'sh',
      ['-c', RUNNER, 'run', shellWaits ? '1' : '0', command, ...args],
      {
        ...options,
        stdio: [gate === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
        detached: true,
      },
    );
    const texts = [1, 2, 3].map((fd) => gathered(child, fd));
    const close = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    const since = (await gate?.passed(child, waitsItself)) ?? performance.now();
    const killer = setTimeout(
      () => process.kill(-(child.pid as number), 'SIGKILL'),
      options.timeoutMs ?? TIMEOUT_MS,
    );
    const [code, signal] = await close;
    clearTimeout(killer);
    const [stdout = '', stderr = '', times = ''] = await Promise.all(texts);
    const seconds = (performance.now() - since) / 1000;
    return { code, signal, stdout, stderr, seconds, cpuSeconds: secondsOf(times) };
  }

  /** Fetches a text from inside the host. @throws Error unless the status is a success */
  async get(url: string): Promise<string> {
    const args = ['netns', 'exec', this.namespace, 'curl', '-sfS', '--max-time', '20', url];
    const { stdout } = await promisify(execFile)('ip', args, {
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, ...this.#mark },
    });
    return stdout;
  }
}

async function gathered(child: ChildProcess, fd: number): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of child.stdio[fd] as NodeJS.ReadableStream) {
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString();
}

/** Reads the output of `times`, whose second line is for children: `0m1.23s 0m0.45s`. */
function secondsOf(times: string): number {
  const line = times.split('\n')[1] ?? '';
  const parts = [...line.matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}
