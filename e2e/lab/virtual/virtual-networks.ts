/** Networks for simulated responses. */

import type { VirtualNetwork } from './virtual-world.ts';

/** Nodes of 2004, which reached about 5 Mbit/s with 10 chunks of 60 KB (table 1), and of today. */
export const NETWORKS: Readonly<Record<'2004' | 'today', VirtualNetwork>> = {
  2004: { nodes: 60, nodeMegabits: 4, rttMs: [5, 85], clientMegabits: 20, slowdowns: 0.05 },
  today: { nodes: 60, nodeMegabits: 60, rttMs: [5, 85], clientMegabits: 200, slowdowns: 0.05 },
};
