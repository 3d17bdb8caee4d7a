/** Downloads with `millrace get` that are killed and repeated, onto a small disk. */

import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@millrace/shared/base/clock';
import type { Strike } from '../account/causes.ts';
import { now } from '../account/ledger.ts';
import type { CommandEnd } from './commands.ts';
import { judgeSaved } from './saved-file.ts';
import { below, pause, type World } from './world.ts';

/** Most runs of one command, killed ones included. */
const MOST_RUNS = 25;
const REST_MS = 300;
/** Slowest and fastest rate of a download, bytes per second: it outlives a fault or two. */
const [SLOWEST, FASTEST] = [1_000_000, 8_000_000];
const NAME = 'file.bin';
/** Code of the error if the run before was killed after it had completed the file. */
const FILE_EXISTS = 'file-exists';

/**
 * Downloads until the soak ends.
 *
 * @param seat number of the command
 * @param disk number of the small disk
 * @param path folder on that disk
 */
export async function getOn(
  world: World,
  random: Random,
  seat: number,
  disk: number,
  path: string,
): Promise<void> {
  const dir = join(path, `get-${seat}`);
  while (!world.ended.aborted) {
    await mkdir(dir, { recursive: true });
    await getOnce(world, random, seat, disk, dir);
    await rm(dir, { recursive: true, force: true });
    await pause(world, REST_MS);
  }
}

async function getOnce(
  world: World,
  random: Random,
  seat: number,
  disk: number,
  dir: string,
): Promise<void> {
  const { files, edges, ledger, commands } = world;
  const from = now();
  const file = below(random, files.count);
  const named = Array.from({ length: edges.count }, (_, i) => i).filter(() => random() < 0.6);
  const rate = Math.round(SLOWEST + random() * (FASTEST - SLOWEST));
  const args = [
    ...['get', files.url(file), '-d', dir, '-o', NAME, '--limit', String(rate)],
    ...['--connections', String(1 + below(random, 6))],
    ...named.flatMap((edge) => ['--edge', edges.url(edge)]),
  ];
  // The origin is always there: the loss of edges explains no failure.
  const strikes: Strike[] = [
    { kind: 'change-file', target: file },
    { kind: 'fill-disk', target: disk },
  ];
  const what = `file ${file} by edges ${named.join(', ') || 'none'}, seat ${seat}`;
  const saved = { work: 'get' as const, file, from, strikes, what };
  for (let runs = 1; !world.ended.aborted; runs++) {
    const end = await commands.run(seat, args, {}, { hangMs: world.hangMs, signal: world.ended });
    if (end.ended === 'hung') return ledger.hang(`get: ${what}: ${lastWords(end)}`);
    const isThere = (await readdir(dir)).includes(NAME);
    const failed = end.events.find(({ event }) => event === 'error');
    if (
      end.ended === 'itself' &&
      end.result.code !== 0 &&
      !(isThere && failed?.code === FILE_EXISTS)
    ) {
      const code = failed?.code ?? `exit-${end.result.code}`;
      ledger.fail('get', code, from, strikes, `${what}: ${lastWords(end)}`);
    }
    if (isThere) {
      return judgeSaved(world, { ...saved, path: join(dir, NAME) });
    }
    if (end.ended === 'itself' && end.result.code === 0)
      return ledger.lose(`get: ${what}: it ended well, and there is no file`);
    if (runs >= MOST_RUNS) return;
    await pause(world, REST_MS);
  }
}

/** Returns what a command said last. */
export function lastWords({ result, events }: CommandEnd): string {
  const last = events.at(-1);
  return `${last === undefined ? '' : JSON.stringify(last)} ${result.stderr.trim()}`.slice(-300);
}
