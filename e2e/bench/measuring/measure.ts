/** Measures how much a side delivers, and its cost in processor time and origin bytes. */

import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Stage } from './stage.ts';

const SINK = fileURLToPath(new URL('./sink.ts', import.meta.url));
const TICKS_PER_SECOND = 100;
/** Time after which a run counts as hanging; runs take seconds. */
const RUN_DEADLINE_MS = 180_000;

/** One program under measurement, or several that serve as one. */
export interface Side {
  /** Processes whose time counts, including the time of their children. */
  readonly pids: readonly number[];
  /** The file's URL at each entry point for clients, without query. */
  readonly entries: readonly string[];
}

/** Work of clients in one run. */
export interface Load {
  /** Clients at once, assigned to the entries in turn. */
  readonly clients: number;
  /** Fetches of the file by each client, one after the other. */
  readonly times: number;
  /** Query to append to the URL; a new query names a file that is not cached yet. */
  readonly query: string;
}

/** One measurement of a side. */
export interface Sample {
  /** GB (10^9 bytes) per second. */
  readonly throughput: number;
  /** Processor seconds of all the side's processes per GB delivered. */
  readonly cpuPerGb: number;
  /** Bytes that the origin sent, as multiples of the file's size. */
  readonly originShare: number;
}

/** Returns the processor seconds that these processes and their children have used. */
export async function cpuSeconds(pids: readonly number[]): Promise<number> {
  let sum = 0;
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (!pids.includes(Number(name)) && !pids.includes(Number(fields[1]))) continue;
    sum += (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }
  return sum;
}

/** Puts the load on the side and measures it. */
export async function sample(stage: Stage, side: Side, load: Load): Promise<Sample> {
  const { origin, fileBytes } = stage;
  const urls = Array.from(
    { length: load.clients },
    (_, client) => `${side.entries[client % side.entries.length]}${load.query}`,
  );
  await origin.sent();
  const before = await cpuSeconds(side.pids);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [SINK, String(load.times), ...urls],
    { timeout: RUN_DEADLINE_MS },
  );
  const { bytes, seconds } = JSON.parse(stdout) as { bytes: number; seconds: number };
  const cpu = (await cpuSeconds(side.pids)) - before;
  return {
    throughput: bytes / 1e9 / seconds,
    cpuPerGb: cpu / (bytes / 1e9),
    originShare: (await origin.sent()).bytes / fileBytes,
  };
}
