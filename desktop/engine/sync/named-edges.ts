/**
 * Finds the names of edges in their network, so that each file is asked of the edge that owns it.
 * That saves a hop inside the network (NSDI 5.1), and for thousands of small files hops are most of
 * the work.
 */

import type { Random } from '@millrace/shared/base/clock';
import { type RankedEdge, rankedEdges } from '@millrace/shared/sync/ways';
import { parseEdgeList } from '../edges/edge-list.ts';
import type { Connections } from '../sources/connections.ts';
import { readSmallFile } from '../sources/small-file.ts';

const MAX_LIST_BYTES = 1024 * 1024;
const TIMEOUT_MS = 3000;

/**
 * Returns the edges with the names that the first edge reports; an edge without such a name is
 * named by its address. Any names will do, as long as all clients use the same ones.
 */
export async function namedEdges(
  urls: readonly string[],
  connections: Connections,
  random: Random,
): Promise<RankedEdge[]> {
  const byAddress = rankedEdges(urls);
  const [first] = urls;
  // A single edge is asked for everything anyway.
  if (first === undefined || urls.length === 1) return byAddress;
  const page = connections.page(first, '/-/edges', random);
  const answer = await readSmallFile(page, MAX_LIST_BYTES, AbortSignal.timeout(TIMEOUT_MS)).catch(
    () => undefined,
  );
  const list = answer === undefined ? undefined : parseEdgeList(answer.body.toString());
  return byAddress.map((edge) => {
    const { origin } = new URL(edge.url);
    const named = list?.edges.find(({ url }) => new URL(url).origin === origin);
    return named === undefined ? edge : { ...named, url: edge.url };
  });
}
