/**
 * One edge against one Varnish, which stores whole objects and does not cut files into ranges. Like
 * an edge, it sends bytes on while receiving them, and all clients of an object share one fetch.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { contest } from '../measuring/contest.ts';
import type { Side } from '../measuring/measure.ts';
import type { Stage } from '../measuring/stage.ts';
import { contestResult, type Result } from '../measuring/table.ts';
import { SCENARIOS } from './single.ts';

/** Size of the cache: two files, so that a cold fetch need not wait for room. */
const CACHE_MIB = 1200;
/** Longest wait for Varnish to start, and the time between two checks, milliseconds. */
const START_DEADLINE_MS = 20_000;
const LOOK_EVERY_MS = 50;

/** Measures both caches. @returns the result as a Markdown table, or the reason for its absence */
export async function varnish(stage: Stage): Promise<Result | string> {
  if (spawnSync('varnishd', ['-V']).status !== 0) {
    return 'NOT MEASURED: varnishd is not installed (Debian: varnish)';
  }
  await using running = new AsyncDisposableStack();
  const other = await Varnish.start(stage);
  running.defer(() => other.stop());
  const edge = await EdgeProcess.start(
    [
      ...['--allow-origin', '127.0.0.1', '--log-level', 'warn'],
      ...['--cache-memory', `${CACHE_MIB}MiB`],
    ],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  running.defer(() => edge.stop().then(() => undefined));
  const ours: Side = {
    pids: [edge.pid],
    entries: [edge.prefixed(`${stage.origin.url}${stage.filePath}`)],
  };
  const theirs: Side = { pids: [other.pid], entries: [`${other.url}${stage.filePath}`] };
  return contestResult(
    await contest(stage, ours, theirs, SCENARIOS),
    'Varnish',
    'One edge and one Varnish',
  );
}

/** A Varnish on a port of its own choice. */
class Varnish {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  static async start(stage: Stage): Promise<Varnish> {
    const dir = stage.folder('varnish');
    await mkdir(dir);
    const vcl = join(dir, 'origin.vcl');
    await writeFile(
      vcl,
      `vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "${stage.origin.port}"; }\n`,
    );
    const work = join(dir, 'work');
    // Runs without its jail, which as root switches to a user who cannot read temporary folders.
    const place = ['-j', 'none', '-F', '-n', work, '-a', '127.0.0.1:0'];
    const args = [...place, '-f', vcl, '-s', `malloc,${CACHE_MIB}m`];
    const child = spawn('varnishd', args, { stdio: 'ignore' });
    const deadline = performance.now() + START_DEADLINE_MS;
    while (performance.now() < deadline && child.exitCode === null) {
      const { status, stdout } = spawnSync('varnishadm', ['-n', work, 'debug.listen_address'], {
        encoding: 'utf8',
      });
      const port = /^\S+ 127\.0\.0\.1 (\d+)/m.exec(stdout)?.[1];
      if (status === 0 && port !== undefined) {
        return new Varnish(`http://127.0.0.1:${port}`, child);
      }
      await pause(LOOK_EVERY_MS);
    }
    child.kill();
    throw new Error('varnishd did not start');
  }

  /** Id of the managing process; the serving process is its child. */
  get pid(): number {
    return this.#child.pid as number;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exit;
  }
}
