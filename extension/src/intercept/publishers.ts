/**
 * Remembers edges that publishers' pages name for the files of their own origin (`Link` fields).
 * Bounded; kept while the browser runs.
 */

import { publishedEdges } from './published-edges.ts';
import type { SeenRequest } from './request-log.ts';

/** Most origins to remember. */
const MAX_ORIGINS = 100;

/** Edges that an origin has named. */
export interface Published {
  /** Base URLs of the edges. */
  readonly edges: readonly string[];
  /** Address that the origin's answer came from; undefined: not known. */
  readonly ip?: string | undefined;
}

const NONE: Published = { edges: [] };

export class Publishers {
  readonly #edges: Map<string, Published>;

  /** @param remembered entries of an earlier background */
  constructor(remembered: readonly (readonly [string, Published])[] = []) {
    this.#edges = new Map(remembered.slice(-MAX_ORIGINS));
  }

  get all(): readonly (readonly [string, Published])[] {
    return [...this.#edges];
  }

  /** Notes the edges that an answer names. @returns true if it names any */
  answered({ hops, answer, framed }: SeenRequest): boolean {
    const url = hops.at(-1)?.url;
    // A frame within a page may be a stranger's.
    if (framed || url === undefined || answer?.headers.link === undefined) return false;
    const named = publishedEdges(answer.headers, url);
    if (named.length === 0) return false;
    const { origin } = new URL(url);
    this.#edges.delete(origin);
    this.#edges.set(origin, { edges: named, ip: answer.ip });
    const [oldest] = this.#edges.keys();
    if (this.#edges.size > MAX_ORIGINS && oldest !== undefined) this.#edges.delete(oldest);
    return true;
  }

  /** Returns the edges that the origin of a URL has named. */
  edgesOf(url: string): Published {
    return this.#edges.get(new URL(url).origin) ?? NONE;
  }
}
