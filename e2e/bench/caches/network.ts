/** Four edges as a network against four nginx slice caches behind a consistent-hash nginx. */

import { Cluster } from '../../fixtures/programs/cluster.ts';
import { cached, contest, type Scenario } from '../measuring/contest.ts';
import type { Side } from '../measuring/measure.ts';
import { NginxNetwork } from '../measuring/nginx-network.ts';
import type { Stage } from '../measuring/stage.ts';
import { contestResult, type Result } from '../measuring/table.ts';

const NODES = 4;
/** Cache of each node: twice its share of the file, since no scheme spreads chunks evenly. */
const CACHE_BYTES = 256 * 1024 * 1024;

const SCENARIOS: readonly Scenario[] = [
  { name: 'hit, 8 clients', clients: 8, times: 1, query: cached },
  { name: 'cold, 8 clients', clients: 8, times: 1, query: (run) => `?network=${run}` },
];

/** Measures both networks. @returns tables and pictures */
export async function network(stage: Stage): Promise<Result> {
  await using running = new AsyncDisposableStack();
  const nginx = await NginxNetwork.start(stage, NODES, CACHE_BYTES);
  running.defer(() => nginx.stop());
  const cluster = await Cluster.start({
    nodes: NODES,
    options: [
      '--allow-origin',
      '127.0.0.1',
      '--cache-memory',
      String(CACHE_BYTES),
      '--log-level',
      'warn',
    ],
    env: { MILLRACE_POISON_MEMORY: '0' },
  });
  running.defer(() => cluster.stop());

  const file = `${stage.origin.url}${stage.filePath}`;
  const ours: Side = {
    pids: cluster.nodes.map(({ edge }) => edge.pid),
    entries: cluster.nodes.map(({ edge }) => edge.prefixed(file)),
  };
  const theirs: Side = { pids: nginx.pids, entries: [`${nginx.url}${stage.filePath}`] };
  return contestResult(
    await contest(stage, ours, theirs, SCENARIOS),
    'nginx network',
    'Four edges and four nginx caches',
  );
}
