/**
 * The edges of a network, as one of them publishes them, and which of them owns a chunk: aware
 * clients ask the owner itself, which saves a hop inside the network (NSDI 5.1).
 */

import { type HrwNode, hashText, rank } from '@millrace/shared/cdn/hrw';
import { z } from 'zod';
import type { HttpSource } from './http-source.ts';

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
/** Sources beyond the first few do not make a download faster. */
export const MAX_EDGES = 32;

export interface EdgeList {
  readonly chunkBytes: number;
  /** Healthy edges: base URL and name. */
  readonly edges: readonly (HrwNode & { readonly url: string })[];
}

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

/** Who owns the chunks of one file, among the edges that can be used. */
export class ChunkOwners {
  readonly #url: string;
  readonly #list: EdgeList;

  /** @param url of the file at the origin */
  constructor(url: string, list: EdgeList) {
    this.#url = url;
    this.#list = list;
  }

  get chunkBytes(): number {
    return this.#list.chunkBytes;
  }

  /** The node of the list that a source is; undefined: none. */
  nodeOf(source: HttpSource): (HrwNode & { readonly url: string }) | undefined {
    if (source.edge === undefined) return undefined;
    const { origin } = new URL(source.edge);
    return this.#list.edges.find(({ url }) => new URL(url).origin === origin);
  }

  /** True if the node is the owner of the chunk that begins at `position`. */
  owns(node: HrwNode, position: number): boolean {
    const [owner] = rank(`${this.#url},start=${position}`, this.#list.edges, 1);
    return owner?.name === node.name;
  }
}
