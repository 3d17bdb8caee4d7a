/** Runs Millrace and other programs in the hosts of a laboratory. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { nginxConfiguration, nginxSent } from '../fixtures/origins/nginx.ts';
import { CLI, EDGE } from '../fixtures/programs/main-files.ts';
import type { EdgeStatus } from '../fixtures/programs/processes.ts';
import type { Host, Run, RunOptions } from './host.ts';

const WAIT = fileURLToPath(new URL('wait.mjs', import.meta.url));
const LOOK_EVERY_MS = 5;
/** Port of the edges that `startEdge` starts. */
export const EDGE_PORT = 3125;

/** An edge in a host. */
export interface LabEdge {
  readonly url: string;
  readonly child: ChildProcess;
  readonly log: readonly string[];
  /** Returns the prefixed URL for an origin URL. */
  prefixed(url: string): string;
  status(): Promise<EdgeStatus>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts an edge on port 3125 and waits until it listens. @param options of its command line */
export async function startEdge(
  host: Host,
  options: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<LabEdge> {
  const args = [
    '--host',
    '0.0.0.0',
    '--port',
    String(EDGE_PORT),
    '--log-level',
    'warn',
    ...options,
  ];
  const child = host.spawn(process.execPath, [EDGE, ...args], { env });
  const log: string[] = [];
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (l) => log.push(l));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => [''])]);
  if (!/ on http/.test(String(line))) {
    throw new Error(`the edge at ${host.name} did not start:\n${log.join('\n')}`);
  }
  const url = `http://${host.address}:${EDGE_PORT}`;
  return {
    url,
    child,
    log,
    prefixed: (of) => `${url}/${of}`,
    status: async () => JSON.parse(await host.get(`${url}/-/status`)) as EdgeStatus,
    stop: (signal = 'SIGTERM') => ended(child, signal),
  };
}

/** A web server in a host. */
export interface LabNginx {
  readonly url: string;
  readonly pid: number;
  /** Returns the body bytes and requests since the last call. */
  sent(): Promise<{ bytes: number; requests: number }>;
  stop(): Promise<void>;
}

export interface LabNginxOptions {
  /** Folder for configuration and logs; created if missing. */
  readonly dir: string;
  /** Folder to serve. */
  readonly root: string;
  /** Port; default 80. */
  readonly port?: number;
  /** Lines for the http block and for the server block. */
  readonly http?: string;
  readonly server?: string;
}

/** Starts nginx and waits until it listens. */
export async function startNginx(host: Host, options: LabNginxOptions): Promise<LabNginx> {
  const { dir, port = 80 } = options;
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'nginx.conf'), nginxConfiguration(options, String(port)));
  const child = host.spawn('nginx', ['-p', dir, '-c', 'nginx.conf', '-e', 'error.log'], {
    stdio: 'ignore',
  });
  if (!(await listens(child, port))) {
    throw new Error(`nginx did not start: ${await readFile(join(dir, 'error.log'), 'utf8')}`);
  }
  return {
    url: `http://${host.address}${port === 80 ? '' : `:${port}`}`,
    pid: child.pid as number,
    sent: () => nginxSent(dir),
    stop: () => ended(child, 'SIGTERM'),
  };
}

/** Resolves with true once a program listens on a port of its host, with false if it ends. */
export async function listens(child: ChildProcess, port: number): Promise<boolean> {
  // State 0A: listening.
  const entry = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} \\S+ 0A `);
  while (child.exitCode === null && child.signalCode === null) {
    const tables = ['tcp', 'tcp6'].map((name) => `/proc/${child.pid}/net/${name}`);
    const texts = await Promise.all(tables.map((path) => readFile(path, 'utf8').catch(() => '')));
    // Before `ip` enters the namespace, this is the table of another network, with other ports.
    if (texts.some((text) => entry.test(text))) return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return false;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/**
 * Runs `millrace` with these arguments. At a gate it waits once Node is loaded: on one machine,
 * starts take longer the more programs start at once. Loading its own modules counts as its time.
 */
export function runMillrace(
  host: Host,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Run> {
  if (options.gate === undefined) return host.run(process.execPath, [CLI, ...args], options);
  const waiting = { ...options, waitsItself: true };
  return host.run(process.execPath, ['--import', WAIT, CLI, ...args], waiting);
}

/** Runs curl with options that make it fail for incomplete bodies. */
export function runCurl(
  host: Host,
  url: string,
  output: string,
  more: readonly string[] = [],
  options: RunOptions = {},
): Promise<Run> {
  return host.run('curl', ['-sS', '--fail', '-o', output, ...more, url], options);
}

/** Runs aria2c without start-up costs that do not belong to the network. */
export function runAria2(
  host: Host,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Run> {
  return host.run('aria2c', ['--no-conf', '-q', '--file-allocation=none', ...args], options);
}
