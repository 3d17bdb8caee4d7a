/**
 * The first fill of a cache's memory: one edge and one nginx with its slice module on tmpfs, each
 * started anew, fetch 2 GiB that neither has seen. Both take every page of their cache from the
 * kernel for the first time.
 */

import { rm } from 'node:fs/promises';
import type { Nginx } from '../../fixtures/origins/nginx.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { type Sample, type Side, sample } from '../measuring/measure.ts';
import { startSlice } from '../measuring/nginx-slice.ts';
import type { Stage } from '../measuring/stage.ts';
import { contestResult, median, type Result, type Row } from '../measuring/table.ts';

const STARTS = 5;
/** Fills of 512 MiB, one after the other. */
const FILES = 4;
/** Room for all fills: nothing is evicted. */
const CACHE_BYTES = 2304 * 1024 * 1024;

interface Started {
  readonly side: Side;
  stop(): Promise<unknown>;
}

/** Measures the first fill after each start. @returns tables and pictures */
export async function fill(stage: Stage): Promise<Result> {
  const rows: Row[] = [];
  for (const clients of [1, 8]) {
    const samples: { ours: Sample[]; theirs: Sample[] } = { ours: [], theirs: [] };
    for (let start = 0; start < STARTS; start++) {
      samples.ours.push(await firstFill(stage, clients, await startEdge(stage)));
      samples.theirs.push(await firstFill(stage, clients, await startNginx(stage)));
      process.stderr.write(`first fill, ${clients}: start ${start + 1} of ${STARTS}\n`);
    }
    const name = `first 2 GiB after a start, ${clients} client${clients === 1 ? '' : 's'}`;
    rows.push({ name, ours: median(samples.ours), theirs: median(samples.theirs) });
  }
  return contestResult(rows, 'nginx slice', 'The first fill after a start');
}

/** Fetches all files once from a program that was just started, and ends it. */
async function firstFill(stage: Stage, clients: number, started: Started): Promise<Sample> {
  try {
    const parts: Sample[] = [];
    for (let file = 0; file < FILES; file++) {
      parts.push(await sample(stage, started.side, { clients, times: 1, query: `?fill=${file}` }));
    }
    const mean = (figure: (part: Sample) => number) =>
      parts.reduce((sum, part) => sum + figure(part), 0) / parts.length;
    return {
      // The files are of one size, so the speed of all is the harmonic mean.
      throughput: 1 / mean(({ throughput }) => 1 / throughput),
      cpuPerGb: mean(({ cpuPerGb }) => cpuPerGb),
      originShare: mean(({ originShare }) => originShare),
    };
  } finally {
    await started.stop();
  }
}

async function startEdge(stage: Stage): Promise<Started> {
  const edge = await EdgeProcess.start(
    ['--allow-origin', '127.0.0.1', '--cache-memory', String(CACHE_BYTES), '--log-level', 'warn'],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  const entries = [edge.prefixed(`${stage.origin.url}${stage.filePath}`)];
  return { side: { pids: [edge.pid], entries }, stop: () => edge.stop() };
}

async function startNginx(stage: Stage): Promise<Started> {
  const nginx: Nginx = await startSlice(stage, 'fill', CACHE_BYTES);
  const side = { pids: [nginx.pid], entries: [`${nginx.url}${stage.filePath}`] };
  return {
    side,
    async stop() {
      await nginx.stop();
      await rm(stage.folder('fill'), { recursive: true, force: true });
      await rm(stage.folder('fill-cache'), { recursive: true, force: true });
    },
  };
}
