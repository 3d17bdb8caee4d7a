/**
 * The order in which a file of a manifest is tried: through its best edge, past that edge's cache,
 * through other edges, and at last from the origin itself.
 */

import type { Millis, Random } from '../base/clock.ts';
import type { ErrorCode, MillraceError } from '../base/errors.ts';
import { type HrwNode, hashText, rank } from '../cdn/routing/hrw.ts';

/** One way of getting a file. */
export interface Way {
  /** Base URL of the edge; undefined: the origin itself. */
  readonly edge: string | undefined;
  /** True if the node that is asked must check that its copy is current. */
  readonly revalidate: boolean;
}

/** An edge, with the values that decide which files are asked of it. */
export interface RankedEdge extends HrwNode {
  readonly url: string;
}

/** Edges that are tried besides the best one. */
const MORE_EDGES = 2;
/** How often all ways are tried. */
const MAX_ROUNDS = 6;
/** How often to wait for a busy server. */
const MAX_WAITS = 40;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

/**
 * The server is busy: waiting is right, or the origin would get the load that edges are there for.
 */
const BUSY: readonly ErrorCode[] = [
  'too-many-requests',
  'too-many-transfers',
  'origin-busy',
  'draining',
  'out-of-memory',
];
/**
 * Edges by their addresses: destinations that are given the same edges ask the same one for a file,
 * also where the edges know nothing of each other.
 */
export function rankedEdges(urls: readonly string[]): RankedEdge[] {
  return urls.map((url) => ({ url, name: url, seed: hashText(url), weight: 1 }));
}

/**
 * The ways to a file, best first.
 *
 * @param fileUrl at the origin
 * @param direct whether the origin itself may be asked; always so where there are no edges
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

/** The ways to one file, one after the other. */
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
    // The first error that is about the content says more than that another way is closed as well.
    if (this.#error === undefined || !isAboutContent(this.#error)) this.#error = error;
    // Of this machine's troubles, no other way helps.
    if (error.row.scope === 'download') return { kind: 'fail', error };
    if (BUSY.includes(error.code) && this.#busy++ < MAX_WAITS) {
      const asked = Math.min(error.retryAfterMs ?? 0, MAX_PAUSE_MS);
      // By chance up to half longer, for the same reason as below.
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

  /** Twice as long each time, by chance up to half of it less, so that not all come back at once. */
  #pause(round: number): Millis {
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (round - 1));
    return pause * (1 - this.#random() / 2);
  }
}

function isAboutContent({ code }: MillraceError): boolean {
  return code === 'precondition-failed' || code === 'checksum-mismatch';
}
