/** Runs one measurement as a process of its own, with a time limit. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Measurement } from './list.ts';
import { load } from './machine.ts';

/** Most characters kept of the output, and of the end of the log. */
const MOST_OUTPUT = 2_000_000;
const MOST_LOG = 4000;
/** Time for a measurement to clean up before it is killed, ms. */
const GRACE_MS = 15_000;
const MINUTE_MS = 60_000;
/** Variable that marks all processes of one measurement. */
const MARK = 'MILLRACE_BENCH_RUN';

type Ending = 'done' | 'failed' | 'out of time' | 'stopped';

/** Course of one measurement. */
export interface Outcome {
  readonly measurement: Measurement;
  readonly ending: Ending;
  readonly minutes: number;
  readonly output: string;
  /** End of what it reported meanwhile. */
  readonly log: string;
  /** Load averages before and after. */
  readonly load: readonly [before: string, after: string];
}

/** Returns the words after `npm run`, as people type them. */
export function typed({ command: [script, ...words] }: Measurement): string {
  return `npm run ${script === 'bench' ? '' : '-s '}${script} -- ${words.join(' ')}`;
}

/**
 * Runs a measurement; resolves however it ends.
 *
 * @param root folder of the repository
 * @param folder folder for its files
 * @param limit time after which it is ended, minutes
 * @param stop ends it when the user asks for that
 */
export async function runOne(
  measurement: Measurement,
  { root, folder, limit, stop }: { root: string; folder: string; limit: number; stop: AbortSignal },
): Promise<Outcome> {
  const before = load();
  const startedAt = performance.now();
  const [script, ...words] = measurement.command;
  const out = measurement.writes ? ['--out', folder] : [];
  const mark = `${process.pid}-${measurement.name}`;
  const guard = script === 'lab' ? undefined : startGuard(root, `${MARK}=${mark}`);
  const child = spawn(process.execPath, [join(root, 'scripts/run.mjs'), script, ...words, ...out], {
    cwd: root,
    env: { ...process.env, [MARK]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: it gets the signals of the terminal through this process, once.
    detached: true,
  });
  let [output, log] = ['', ''];
  read(child.stdout, (text) => {
    output = (output + text).slice(0, MOST_OUTPUT);
  });
  read(child.stderr, (text) => {
    process.stderr.write(text);
    log = (log + text).slice(-MOST_LOG);
  });
  const timeout = AbortSignal.timeout(Math.ceil(limit * MINUTE_MS));
  const code = await ended(child, AbortSignal.any([stop, timeout])).catch((error: Error) => {
    log += `It could not be started: ${error.message}\n`;
    return null;
  });
  await guard?.end();
  return {
    measurement,
    ending: stop.aborted
      ? 'stopped'
      : timeout.aborted && code !== 0
        ? 'out of time'
        : code === 0
          ? 'done'
          : 'failed',
    minutes: (performance.now() - startedAt) / MINUTE_MS,
    output,
    log,
    load: [before, load()],
  };
}

function read(stream: Readable, take: (text: string) => void): void {
  stream.setEncoding('utf8');
  stream.on('data', take);
}

/** Waits for the end of a process, and brings it about once the signal says so. */
async function ended(child: ChildProcess, signal: AbortSignal): Promise<number | null> {
  let killer: NodeJS.Timeout | undefined;
  const end = () => {
    kill(child, 'SIGTERM');
    killer = setTimeout(() => kill(child, 'SIGKILL'), GRACE_MS);
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  try {
    // Not `close`: a process that it left behind may hold its output open.
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  } finally {
    signal.removeEventListener('abort', end);
    clearTimeout(killer);
  }
}

/** Sends a signal to all processes of a group. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has ended meanwhile.
  }
}

/**
 * Starts a program that ends the processes that a measurement left behind, however this process
 * ends. Laboratories have keepers that do so, and must not be killed before they are done.
 */
function startGuard(root: string, mark: string): { end(): Promise<void> } | undefined {
  if (process.platform !== 'linux') return undefined;
  const guard = spawn(process.execPath, [join(root, 'scripts/end-left.mjs'), mark], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const exited = once(guard, 'exit');
  return {
    async end() {
      guard.stdin?.end();
      await exited;
    },
  };
}
