/** Through which edges a file is fetched beside its origin. */

import { mayUseEdges } from '@millrace/shared/download/edge-use';
import type { Settings } from '../settings.ts';
import { isAmong } from './hosts.ts';

/** More do not make a download faster. */
const MAX_EDGES = 8;

/**
 * @param urls what is asked for, and where redirects lead: one that edges may not see rules all out
 * @param published edges that the file's publisher has named
 * @returns base URLs, the user's own first
 */
export function edgesFor(
  urls: readonly string[],
  headers: Readonly<Record<string, string>>,
  { edges, publisherEdges }: Settings,
  published: readonly string[],
): string[] {
  if (!urls.every((url) => mayUseEdges(url, headers))) return [];
  const [host] = urls.map((url) => new URL(url).hostname);
  if (host === undefined) return [];
  const own = edges.filter(({ hosts }) => isAmong(host, hosts)).map(({ url }) => url);
  return [...new Set([...own, ...(publisherEdges ? published : [])])].slice(0, MAX_EDGES);
}
