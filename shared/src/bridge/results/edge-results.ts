/** Edges that the user has set up, and the outcome of testing one. */

import * as z from 'zod';
import { named } from './named.ts';

const rttMs = z.number().optional().describe('Round-trip time, milliseconds.');

export const edgeEntry = named('EdgeEntry', 'An edge that is set up.', {
  url: z.string().describe('Base URL: scheme, host and port; tells it from all others.'),
  name: z.string().describe('Name that the user gave it, may be empty.'),
  enabled: z.boolean().describe('Used by downloads that are added with `useEdges`.'),
  local: z.boolean().describe('True: the edge of this machine, which comes and goes by itself.'),
});
export const edges = named('Edges', 'All edges that are set up.', { edges: z.array(edgeEntry) });

export const edgeNode = named('EdgeNode', 'A node of the network that an edge belongs to.', {
  name: z.string(),
  url: z.string(),
  healthy: z.boolean(),
  rttMs,
});
export const edgeTest = named('EdgeTest', 'The outcome of testing an edge.', {
  url: z.string(),
  ok: z.boolean(),
  rttMs: rttMs.describe('The shortest of three round trips, milliseconds.'),
  name: z.string().optional().describe('The node that answered, if it gives its name.'),
  draining: z.boolean().optional().describe('It takes no more transfers.'),
  nodes: z.array(edgeNode),
  problem: z
    .enum(['unreachable', 'timeout', 'not-an-edge'])
    .optional()
    .describe('Why it is not ok.'),
});

export const houseEdge = named('HouseEdge', 'An edge that was found on the local network.', {
  url: z.string().describe('Base URL: scheme, host and port.'),
  address: z.string().describe('Its address on the local network, the only one that is asked.'),
  name: z.string().describe('Name that it gives itself, may be empty; it proves nothing.'),
  rttMs: z.number().describe('Round-trip time, milliseconds.'),
});
export const houseEdges = named(
  'HouseEdges',
  'The edges found on the local network, nearest first.',
  {
    looks: z.boolean().describe('False: the setting `house` is off, and nothing is looked for.'),
    edges: z.array(houseEdge),
  },
);

export const depotUrl = z
  .string()
  .describe('Base URL: scheme, host and port; tells it from all others.');

export const depotEntry = named('DepotEntry', 'A depot that is set up. Its token is never told.', {
  url: depotUrl,
  name: z.string().describe('Name that the user gave it, may be empty.'),
});
