/** Cost of heartbeats, and the time until dead nodes are known, by size of the network. */

import type { Settings } from '../main.ts';
import { type Loss, membership } from '../membership.ts';
import { percent, quantile, type Report } from '../report.ts';

/** Sizes of networks, and the nodes of each whose heartbeats are simulated. */
const NETWORKS = [
  { nodes: 100, measured: 100 },
  { nodes: 500, measured: 60 },
  { nodes: 2000, measured: 20 },
  { nodes: 15_000, measured: 12 },
];
const SHARE = 0.01;
const LOSSES: readonly (Loss & { readonly name: string })[] = [
  { name: 'silent, no requests', share: SHARE, how: 'frozen', requestsPerSecond: 0 },
  { name: 'connections refused, no requests', share: SHARE, how: 'gone', requestsPerSecond: 0 },
  { name: 'silent, 10 requests a second', share: SHARE, how: 'frozen', requestsPerSecond: 10 },
];

export async function membershipCosts({ seed, nodes }: Settings): Promise<Report> {
  const costs: (string | number)[][] = [];
  const times: (string | number)[][] = [];
  const sizes = NETWORKS.filter((network) => nodes === undefined || network.nodes === nodes);
  if (nodes !== undefined && sizes.length === 0) sizes.push({ nodes, measured: 20 });
  const networks = sizes.flatMap((size) =>
    [false, true].map((hasSites) => ({ ...size, hasSites })),
  );
  for (const network of networks) {
    const result = await membership({ seed, ...network, losses: LOSSES });
    const { knowingMs, nearFound, peers, noticed } = result;
    const { sentPerSecond, mostPerSecond, bytesPerSecond } = result;
    const size = `${network.nodes}${network.hasSites ? ', sites named' : ''}`;
    costs.push([
      ...[size, network.measured, peers, sentPerSecond, mostPerSecond],
      ...[bytesPerSecond / 1000, knowingMs / 1000, percent(nearFound)],
    ]);
    for (const [i, { afterMs, never }] of noticed.entries()) {
      const seconds = (share: number) => quantile(afterMs, share) / 1000;
      const name = LOSSES[i]?.name ?? '';
      const figures = [0.5, 0.95, 1].map(seconds);
      times.push([size, name, afterMs.length, ...figures, never]);
    }
  }
  return {
    title: 'Membership: cost of heartbeats, and time until dead nodes are known',
    tables: [
      {
        caption: 'Cost of a node, once all know each other',
        columns: [
          ...['nodes', 'measured', 'peers', 'heartbeats/s', 'most of a node', 'kB/s'],
          's until 99% of the others are known, or 2,000',
          'of the 120 nearest known',
        ],
        rows: costs,
      },
      {
        caption: '1% of the nodes die: seconds until a node that has one as a peer leaves it alone',
        columns: ['nodes', 'death', 'dead peers', 'median', '95%', 'most', 'never'],
        rows: times,
      },
    ],
    notes: [
      'A node receives as many heartbeats as it sends. Bytes: its own heartbeats and the answers, with HTTP heads, without TCP and TLS.',
      'Only the measured nodes send heartbeats; the others answer, and their peers were chosen in advance. Six nodes are at each site; others of a dead one speak for it for 14 s more.',
      'NSDI 4.2: two heartbeats a second, so that each of at most 120 peers is asked once a minute; three missed ones remove it.',
    ],
  };
}
