/** One edge against one nginx with its slice module. */

import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { cached, contest, type Scenario } from '../measuring/contest.ts';
import type { Side } from '../measuring/measure.ts';
import { startSlice } from '../measuring/nginx-slice.ts';
import type { Stage } from '../measuring/stage.ts';
import { contestResult, type Result } from '../measuring/table.ts';

/** Size of both caches: slightly more than the file. Both are in steady state after one run. */
const CACHE_BYTES = 640 * 1024 * 1024;

/** Loads for comparing one edge with another cache. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'hit, 1 client', clients: 1, times: 4, query: cached },
  { name: 'hit, 8 clients', clients: 8, times: 1, query: cached },
  { name: 'cold, 1 client', clients: 1, times: 1, query: (run) => `?cold=${run}` },
  { name: 'cold, 8 clients', clients: 8, times: 1, query: (run) => `?crowd=${run}` },
];

/** Measures both caches. @returns tables and pictures */
export async function single(stage: Stage): Promise<Result> {
  await using running = new AsyncDisposableStack();
  const slice = await startSlice(stage, 'slice', CACHE_BYTES);
  running.defer(() => slice.stop());
  const edge = await EdgeProcess.start(
    ['--allow-origin', '127.0.0.1', '--cache-memory', String(CACHE_BYTES), '--log-level', 'warn'],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  running.defer(() => edge.stop().then(() => undefined));

  const ours: Side = {
    pids: [edge.pid],
    entries: [edge.prefixed(`${stage.origin.url}${stage.filePath}`)],
  };
  const theirs: Side = { pids: [slice.pid], entries: [`${slice.url}${stage.filePath}`] };
  return contestResult(
    await contest(stage, ours, theirs, SCENARIOS),
    'nginx slice',
    'One edge and one nginx with its slice module',
  );
}
