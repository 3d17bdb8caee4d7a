/** Through which edges a file is fetched beside its origin. */

import { type AskedFor, usableEdges } from '@millrace/shared/download/request/edge-use';
import type { Settings } from '../contract/settings.ts';

export interface ChosenEdges {
  /** Base URLs, the user's own first. */
  readonly edges: readonly string[];
  /** The edges among them that only the publisher has named. */
  readonly published: readonly string[];
}

/**
 * @param requests the one to be made again first, then its redirects
 * @param published edges that the first one's own origin has named
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
