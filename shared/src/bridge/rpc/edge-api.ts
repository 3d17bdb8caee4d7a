/** The edges that the user has set up, and the outcome of testing one. */

import type { edgeEntry, edgeNode, edgeTest, houseEdge } from '../results/edge-results.ts';
import type { Shape } from '../results/named.ts';

export const MAX_EDGES = 16;

export type EdgeEntry = Shape<typeof edgeEntry>;
export type EdgeNode = Shape<typeof edgeNode>;
/** An edge that was found on the local network. */
export type HouseEdgeView = Shape<typeof houseEdge>;
export type EdgeTest = Shape<typeof edgeTest>;
