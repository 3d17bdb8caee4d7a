/**
 * Decides the order in which the ways to a file of a manifest are tried: through its best edge,
 * through the same edge past its cache, through other edges, and last from the origin itself.
 */

import type { Millis, Random } from '../base/clock.ts';
import type { ErrorCode, MillraceError } from '../base/errors.ts';
import { type HrwNode, hashText, rank } from '../cdn/routing/hrw.ts';

/** One way of getting a file. */
export interface Way {
  /** Base URL of the edge; undefined: the origin itself. */
  readonly edge: string | undefined;
  /** True if the edge must check that its copy is current. */
  readonly revalidate: boolean;
}

/** An edge with the values that decide which files it is asked for. */
export interface RankedEdge extends HrwNode {
  readonly url: string;
}

/** Number of edges that are tried besides the best one. */
const MORE_EDGES = 2;
/** Most times that all ways are tried. */
const MAX_ROUNDS = 6;
/** Most waits for busy servers. */
const MAX_WAITS = 40;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

/**
 * Errors of a busy server. Waiting is right: otherwise the origin would get the load that edges
 * should take.
 */
const BUSY: readonly ErrorCode[] = [
  'too-many-requests',
  'too-many-transfers',
  'origin-busy',
  'draining',
  'out-of-memory',
];
/**
 * Makes ranked edges of addresses. Clients with the same edges ask the same edge for a file, even
 * if the edges do not know each other.
 */
export function rankedEdges(urls: readonly string[]): RankedEdge[] {
  return urls.map((url) => ({ url, name: url, seed: hashText(url), weight: 1 }));
}

/**
 * Returns the ways to a file, best first.
 *
 * @param fileUrl URL of the file at the origin
 * @param direct true if the origin itself may be asked; it always may without edges
 */
export function waysTo(fileUrl: string, edges: readonly RankedEdge[], direct: boolean): Way[] {
  const ranked = rank(`${fileUrl},start=0`, edges, 1 + MORE_EDGES);
  const [best] = ranked;
  const ways: Way[] = [];
  if (best !== undefined) ways.push({ edge: best.url, revalidate: false });
  for (const { url } of ranked) ways.push({ edge: url, revalidate: true });
  if (direct || best === undefined) ways.push({ edge: undefined, revalidate: true });
  return ways;
}

export type Step =
  | { readonly kind: 'try'; readonly way: Way; readonly afterMs: Millis }
  | { readonly kind: 'fail'; readonly error: MillraceError };

/** Tries the ways to one file, one after the other. */
export class Attempts {
  readonly #ways: readonly Way[];
  readonly #random: Random;
  #index = 0;
  #round = 0;
  #busy = 0;
  #error: MillraceError | undefined;

  constructor(ways: readonly Way[], random: Random) {
    this.#ways = ways;
    this.#random = random;
  }

  get first(): Way {
    return this.#ways[0] as Way;
  }

  /** Decides what to do after the latest way has failed. */
  next(error: MillraceError): Step {
    // The first error about the content is more informative than the failure of a later way.
    if (this.#error === undefined || !isAboutContent(this.#error)) this.#error = error;
    // No other way helps against a fault of this machine.
    if (error.row.scope === 'download') return { kind: 'fail', error };
    if (BUSY.includes(error.code) && this.#busy++ < MAX_WAITS) {
      const asked = Math.min(error.retryAfterMs ?? 0, MAX_PAUSE_MS);
      // Up to half longer at random, for the same reason as in `#pause`.
      const later = asked * (1 + this.#random() / 2);
      return this.#try(asked > 0 ? later : this.#pause(Math.min(this.#busy, MAX_ROUNDS)));
    }
    this.#index++;
    if (this.#index < this.#ways.length) return this.#try(0);
    this.#index = 0;
    this.#round++;
    if (!error.row.retryable || this.#round >= MAX_ROUNDS) {
      return { kind: 'fail', error: this.#error };
    }
    return this.#try(this.#pause(this.#round));
  }

  #try(afterMs: Millis): Step {
    return { kind: 'try', way: this.#ways[this.#index] as Way, afterMs };
  }

  /** Doubles the pause each round, minus a random part up to half, so that clients spread. */
  #pause(round: number): Millis {
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (round - 1));
    return pause * (1 - this.#random() / 2);
  }
}

function isAboutContent({ code }: MillraceError): boolean {
  return code === 'precondition-failed' || code === 'checksum-mismatch';
}
