/** Methods for the edges that the user has set up. */

import * as z from 'zod';
import { edges, edgeTest, houseEdges } from '../results/edge-results.ts';
import { nothing } from './params.ts';
import type { Rows } from './row.ts';

const url = z.string().max(2048).describe('Address; without a scheme, http.');
const name = z.string().max(64).optional();

export const EDGE_ROWS = {
  'millrace.addEdge': {
    summary: 'Adds an edge.',
    params: z.strictObject({ url, name }),
    result: edges,
  },
  'millrace.changeEdge': {
    summary: 'Names an edge, or switches it on or off.',
    params: z.strictObject({ url, name, enabled: z.boolean().optional() }),
    result: edges,
  },
  'millrace.removeEdge': {
    summary: 'Removes an edge.',
    params: z.strictObject({ url }),
    result: edges,
  },
  'millrace.testEdge': {
    summary: 'Tests an edge.',
    params: z.strictObject({ url }),
    result: edgeTest,
    waits: true,
  },
  'millrace.houseEdges': {
    summary: 'Returns the edges found on the local network, while the setting `house` is on.',
    params: nothing,
    result: houseEdges,
  },
} as const satisfies Rows;
