/** Measuring: processor time of processes, medians, tables. */

import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SINK = fileURLToPath(new URL('./sink.ts', import.meta.url));
const TICKS_PER_SECOND = 100;

/** One measurement of a server. */
export interface Sample {
  /** GB (10^9 bytes) per second. */
  readonly throughput: number;
  /** Processor seconds of the server per GB. */
  readonly cpuPerGb: number;
}

/** Processor seconds that a process and its children have used. */
export async function cpuSeconds(pid: number): Promise<number> {
  let sum = 0;
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(name) !== pid && Number(fields[1]) !== pid) continue;
    sum += (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }
  return sum;
}

/** Fetches the URLs with so many clients at once and measures the server. */
export async function sample(
  pid: number,
  clients: number,
  urls: readonly string[],
): Promise<Sample> {
  const before = await cpuSeconds(pid);
  const args = [SINK, String(clients), ...urls];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { bytes, seconds } = JSON.parse(stdout) as { bytes: number; seconds: number };
  const cpu = (await cpuSeconds(pid)) - before;
  return { throughput: bytes / 1e9 / seconds, cpuPerGb: cpu / (bytes / 1e9) };
}

/** The median of each figure. */
export function median(samples: readonly Sample[]): Sample {
  const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] as number;
  return {
    throughput: middle(samples.map((s) => s.throughput)),
    cpuPerGb: middle(samples.map((s) => s.cpuPerGb)),
  };
}

/** One line of the result: ours beside theirs. */
export interface Row {
  readonly name: string;
  readonly ours: Sample;
  readonly theirs: Sample;
}

/** Writes rows as a Markdown table with ratios. */
export function table(rows: readonly Row[], theirName: string): string {
  const lines = rows.map(({ name, ours, theirs }) => {
    const ratio = (ours.throughput / theirs.throughput).toFixed(2);
    const cells = [
      name,
      ours.throughput.toFixed(2),
      theirs.throughput.toFixed(2),
      `${ratio}x`,
      ours.cpuPerGb.toFixed(2),
      theirs.cpuPerGb.toFixed(2),
      `${(ours.cpuPerGb / theirs.cpuPerGb).toFixed(2)}x`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    `| | Millrace GB/s | ${theirName} GB/s | ratio | Millrace CPU-s/GB | ${theirName} CPU-s/GB | ratio |`,
    '|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}
