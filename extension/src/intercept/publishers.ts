/**
 * Edges that publishers' pages name for the files of their own host (`Link` fields). Bounded; kept
 * while the browser runs.
 */

import { parseEdgeLinks } from '@millrace/shared/http/edge-links';
import type { SeenRequest } from './request-log.ts';

/** Origins that are remembered. */
const MAX_ORIGINS = 100;

export class Publishers {
  readonly #edges: Map<string, readonly string[]>;

  /** @param remembered of an earlier life */
  constructor(remembered: readonly (readonly [string, readonly string[]])[] = []) {
    this.#edges = new Map(remembered.slice(-MAX_ORIGINS));
  }

  get all(): readonly (readonly [string, readonly string[]])[] {
    return [...this.#edges];
  }

  /** @returns true if that has told something */
  answered({ hops, answer }: SeenRequest): boolean {
    const url = hops.at(-1)?.url;
    if (url === undefined || answer?.headers.link === undefined) return false;
    const named = parseEdgeLinks(answer.headers, url);
    if (named.length === 0) return false;
    const { origin } = new URL(url);
    this.#edges.delete(origin);
    this.#edges.set(origin, named);
    const [oldest] = this.#edges.keys();
    if (this.#edges.size > MAX_ORIGINS && oldest !== undefined) this.#edges.delete(oldest);
    return true;
  }

  /** What the origin of a URL has named. */
  edgesOf(url: string): readonly string[] {
    return this.#edges.get(new URL(url).origin) ?? [];
  }
}
