import { expect, test } from '@jest/globals';
import { MAX_MISSES, PeerTable } from '@millrace/shared/cdn/routing/peer-table';
import { Metrics } from '../figures/metrics.ts';
import { addPeerGauges } from './gauges.ts';

test('a node that dies, or was never there, has no series of its own', async () => {
  const metrics = new Metrics();
  const table = new PeerTable({ name: 'self', org: undefined });
  addPeerGauges(metrics, table);
  const info = (name: string) => ({
    ...{ name, load: 0, weight: 1, policy: 'open' as const, publicUrl: undefined },
    ...{ draining: false, sees: [] },
  });
  const series = async () =>
    (await metrics.registry.metrics()).match(/^millrace_peer_rtt_seconds\{.*$/gm) ?? [];
  for (let i = 0; i < 50; i++) {
    table.onAnswer(`http://10.0.0.${i}:3125`, info(`node-${i}`), 20, 0);
    table.onAnswer(`http://10.0.0.${i}:3125`, info(`node-${i}`), 10, 0);
  }
  expect(await series()).toHaveLength(50);
  for (let i = 1; i < 50; i++) {
    for (let miss = 0; miss < MAX_MISSES; miss++) table.onMiss(`http://10.0.0.${i}:3125`, 0);
  }
  expect(await series()).toEqual(['millrace_peer_rtt_seconds{peer="node-0"} 0.01']);
  table.onAnswer('http://10.0.0.7:3125', info('node-7'), 30, 0);
  expect(await series()).toContain('millrace_peer_rtt_seconds{peer="node-7"} 0.03');
});
