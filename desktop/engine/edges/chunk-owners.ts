/**
 * Finds the edge of a network that owns a chunk: clients that ask the owner directly save a hop
 * inside the network (NSDI 5.1).
 */

import { type HrwNode, rank } from '@millrace/shared/cdn/routing/hrw';
import type { ListedEdge } from '@millrace/shared/download/edges/edge-order';

/** An edge of a list, as routing sees it. */
export type ListedNode = HrwNode & ListedEdge;

export interface EdgeList {
  readonly chunkBytes: number;
  /** Healthy edges: base URL and name. */
  readonly edges: readonly ListedNode[];
}

/** Finds the owners of one file's chunks among the edges that can be used. */
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

  /** Returns the list's entry for a source; undefined if the source is not in the list. */
  nodeOf(source: { readonly edge: string | undefined }): ListedNode | undefined {
    if (source.edge === undefined) return undefined;
    const { origin } = new URL(source.edge);
    return this.#list.edges.find(({ url }) => new URL(url).origin === origin);
  }

  /** Returns true if the node owns the chunk that begins at `position`. */
  owns(node: HrwNode, position: number): boolean {
    const [owner] = rank(`${this.#url},start=${position}`, this.#list.edges, 1);
    return owner?.name === node.name;
  }
}
