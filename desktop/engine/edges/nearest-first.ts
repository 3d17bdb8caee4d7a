/** Hands out the edges of a list, the nearest ones first, and measures those that are not known. */

import type { Millis } from '@millrace/shared/base/clock';
import { type ListedEdge, MAX_EDGES, planEdges } from '@millrace/shared/download/edges/edge-order';

/** Round trips to edges, remembered by a process for all its downloads. */
export interface EdgeMemory {
  /** Returns the remembered round trip to an edge; undefined: unknown. */
  rtt(edge: string): Millis | undefined;
  /** Returns true if the edge has been measured lately. */
  isFresh(edge: string): boolean;
  onMeasured(edge: string, ms: Millis): void;
}

export interface NearestFirstOptions<E> {
  readonly edges: readonly E[];
  /** Round trip to the edge that gave the list. */
  readonly firstMs: Millis;
  readonly memory: EdgeMemory;
  /** Measures an edge. @throws any error of an edge that does not answer */
  readonly measure: (edge: E, signal: AbortSignal) => Promise<Millis>;
  /** Takes an edge to use; called for the nearest one first, and for no more than `MAX_EDGES`. */
  readonly onEdge: (edge: E) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Longest time to wait for an answer; an edge that takes longer comes after all others. */
const TIMEOUT_MS = 10_000;

/**
 * Hands out edges. Those that are measured come in the order of their answers, so that a slow one
 * delays nobody; those without an answer come last, while there is room for them.
 *
 * @throws the signal's reason
 */
export async function nearestFirst<E extends ListedEdge>(o: NearestFirstOptions<E>): Promise<void> {
  const { edges, memory, measure, onEdge, signal, firstMs } = o;
  let left = MAX_EDGES;
  const hand = async (edge: E) => {
    if (left-- > 0) await onEdge(edge);
  };
  const known = ({ url }: E) => ({ ms: memory.rtt(url), isFresh: memory.isFresh(url) });
  const plan = planEdges(edges, known, firstMs);
  const all = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const silent: E[] = [];
  const measured = plan.measure.map(async (edge) => {
    let ms: Millis;
    try {
      ms = await measure(edge, all);
    } catch {
      silent.push(edge);
      return;
    }
    memory.onMeasured(edge.url, ms);
    await hand(edge);
  });
  for (const edge of plan.use) await hand(edge);
  await Promise.all(measured);
  signal.throwIfAborted();
  for (const edge of silent) await hand(edge);
}
