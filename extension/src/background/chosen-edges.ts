/** Chooses the edges for one download: the user's own, and its publisher's edges within reach. */

import type { AskedFor } from '@millrace/shared/download/request/edge-use';
import type { Settings } from '../contract/settings.ts';
import { type ChosenEdges, edgesFor } from '../intercept/edges.ts';
import type { EdgeCheck } from './edge-check.ts';
import type { SeenRequests } from './seen-requests.ts';

/**
 * Returns the edges to use for a download.
 *
 * @param url its URL, whose origin may have named edges
 */
export async function chosenEdges(
  { seen, check }: { readonly seen: SeenRequests; readonly check: EdgeCheck },
  url: string,
  requests: readonly AskedFor[],
  settings: Settings,
): Promise<ChosenEdges> {
  const named = await seen.edgesOf(url);
  const { edges, published } = edgesFor(requests, settings, named.edges);
  if (published.length === 0) return { edges, published };
  const reached = await check.withinReach({ edges: published, ip: named.ip });
  const usable = edges.filter((edge) => !published.includes(edge) || reached.includes(edge));
  return { edges: usable, published: reached };
}
