/** Chooses the edges through which a file is fetched, in addition to its origin. */

import { type AskedFor, usableEdges } from '@millrace/shared/download/request/edge-use';
import type { Settings } from '../contract/settings.ts';

export interface ChosenEdges {
  /** Base URLs, the user's own first. */
  readonly edges: readonly string[];
  /** Those of `edges` that only the publisher has named. */
  readonly published: readonly string[];
}

/**
 * Returns the edges for a file.
 *
 * @param requests the request to be made again, then its redirects
 * @param published edges that the origin of the first request has named
 */
export function edgesFor(
  requests: readonly AskedFor[],
  { edges, publisherEdges }: Settings,
  published: readonly string[],
): ChosenEdges {
  const named = publisherEdges ? published.map((url) => ({ url })) : [];
  const chosen = usableEdges(requests, [...edges, ...named]);
  const own = new Set(usableEdges(requests, edges));
  return { edges: chosen, published: chosen.filter((url) => !own.has(url)) };
}
