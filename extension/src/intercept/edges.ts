/** Through which edges a file is fetched beside its origin. */

import { type AskedFor, usableEdges } from '@millrace/shared/download/edge-use';
import type { Settings } from '../settings.ts';

/**
 * @param requests the one to be made again first, then where it was redirected to
 * @param published edges that the first one's own origin has named
 * @returns base URLs, the user's own first
 */
export function edgesFor(
  requests: readonly AskedFor[],
  { edges, publisherEdges }: Settings,
  published: readonly string[],
): string[] {
  const named = publisherEdges ? published.map((url) => ({ url })) : [];
  return usableEdges(requests, [...edges, ...named]);
}
