/** The edges of a network, as one of them publishes them (`/-/edges`). */

import { hashText } from '@millrace/shared/cdn/hrw';
import { z } from 'zod';
import type { EdgeList } from './chunk-owners.ts';

/** What `/-/edges` says, as far as it matters here. */
const ANSWER = z.object({
  chunkBytes: z
    .int()
    .min(64 * 1024)
    .max(16 * 1024 * 1024),
  routing: z.string(),
  edges: z
    .array(
      z.object({
        name: z.string().min(1).max(255),
        url: z.url({ protocol: /^https?$/ }),
        healthy: z.boolean(),
        weight: z.number().positive().default(1),
      }),
    )
    .max(1000),
});

/** The way of routing that is understood here. */
const ROUTING = 'hrw-1';
/**
 * Reads what an edge says of its network.
 *
 * @param text JSON of `/-/edges`
 * @returns undefined if it is not understood, or routes in a way that is not known here
 */
export function parseEdgeList(text: string): EdgeList | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const answer = ANSWER.safeParse(value);
  if (!answer.success || answer.data.routing !== ROUTING) return undefined;
  const { chunkBytes, edges } = answer.data;
  return {
    chunkBytes,
    edges: edges
      .filter(({ healthy }) => healthy)
      .map(({ name, url, weight }) => ({ name, url, weight, seed: hashText(name) })),
  };
}
