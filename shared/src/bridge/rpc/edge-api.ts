/** The edges that the user has set up, and the outcome of testing one. */

import type { edgeEntry, edgeNode, edgeTest } from '../results/edge-results.ts';
import type { Shape } from '../results/named.ts';

export const MAX_EDGES = 16;

export type EdgeEntry = Shape<typeof edgeEntry>;
export type EdgeNode = Shape<typeof edgeNode>;
export type EdgeTest = Shape<typeof edgeTest>;
