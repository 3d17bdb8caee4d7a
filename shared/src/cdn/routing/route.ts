/**
 * Chooses the node that serves a chunk that this node does not have: the one decision of routing,
 * in one place (NSDI 5.1, 5.3, 5.4; LOGIN).
 *
 * The first hop spreads requests over a broad set of replicas. A node that a request was forwarded
 * to checks whether it is the best node for the chunk in its own view. If not, it forwards the
 * request once more. So differences between the views of nodes do not make several of them fetch
 * the chunk from the origin.
 *
 * In a network with more nodes than a node has peers, each region has a best node of its own: with
 * 400 nodes and 120 peers the papers count 7 to 9 copies (NSDI table 2). Here the best node of a
 * region asks the best of all nodes it knows of, however far, before it turns to the origin. In
 * networks with more nodes than one node can know, the best is often one that this node does not
 * know, but some that it knows do: then one of these is asked.
 */

import type { Random } from '../../base/clock.ts';
import { type HrwNode, rank } from './hrw.ts';
import { pickReplica } from './replicas.ts';

/** A node as routing sees it; this node itself is one too. */
export interface RouteNode extends HrwNode {
  /** Busyness in coarse steps, so that small differences do not decide. */
  readonly load: number;
}

/**
 * A node that this one cannot reach, but that nodes it can reach say they can. Without this
 * knowledge, a node that is second for a chunk and does not see the first takes itself for the
 * first, and asks the origin as well as the true owner does.
 */
export interface Hearsay<N extends RouteNode> extends RouteNode {
  /** Nodes that can reach it; not empty. */
  readonly through: readonly N[];
}

export type Route<N> =
  | { readonly to: 'origin' }
  | {
      readonly to: 'peer';
      readonly peer: N;
      /**
       * True if this node caches the chunk when it passes through: every node on the path does,
       * except where the chunk only enters the network (NSDI 3.2).
       */
      readonly keep: boolean;
      /**
       * True if the peer is only to send the chunk if it has it, or is fetching it from the origin.
       */
      readonly ifHeld?: true;
    };

/** Nodes that this one cannot reach, and perhaps does not know, but that others say they can. */
export interface Rumours<N> {
  readonly nodes: readonly HrwNode[];
  /** Returns nodes that can be used now and can reach the named one. */
  through(name: string): readonly N[];
}

export interface RouteQuestion<N extends RouteNode> {
  /** Routing key: the chunk's name without version tag. */
  readonly key: string;
  /** This node, one of `nodes`. */
  readonly self: N;
  /** Nodes that can be used now, this one included. */
  readonly nodes: readonly N[];
  /** Nodes known only from what other nodes say. */
  readonly hearsay: readonly Hearsay<N>[];
  /**
   * Nodes that could be used but are too far to be peers; asked only just before the origin.
   * Absent: as in the papers, the best of the peers asks the origin.
   */
  readonly far?: () => readonly N[];
  /** Nodes that only others can reach, near or far; asked for only just before the origin. */
  readonly rumours?: () => Rumours<N>;
  /**
   * Nodes that this one knows and has lost, perhaps for a moment only; asked for only just before
   * the origin.
   */
  readonly lost?: () => readonly HrwNode[];
  /** How often the request has been forwarded; 0: it comes from this node's own client. */
  readonly hops: number;
  /**
   * Most times that a request is forwarded between peers; 2 by default, LOGIN lets it run further.
   * To the best of all nodes it may be forwarded `BEYOND_HOPS` times more.
   */
  readonly maxHops: number;
  /** Replicas to choose from at the first hop. */
  readonly replicas: number;
  /** Names of nodes not to be asked: on the path already, or tried without success. */
  readonly avoid: ReadonlySet<string>;
  /**
   * Routing key of the chunk without salt. If given, a node that probably has the chunk is asked
   * for it before the origin, by requests that may have missed the chunk's owner.
   */
  readonly plainKey?: string | undefined;
  /**
   * True for a request that is sent because another is late: it avoids the chunk's owner, or has a
   * salt, which changes the owner.
   */
  readonly isRetry?: boolean;
  readonly random: Random;
}

/** Default of `RouteQuestion.maxHops`: one forward, and one more if views differ. */
export const MAX_HOPS = 2;
/** Forwards beyond those between peers: to a node that can reach the best of all, and to that. */
const BEYOND_HOPS = 2;
/** Nodes that must say they can reach a node that this one cannot: a single one may be wrong. */
const MIN_WITNESSES = 2;
/** Most unreachable nodes that are considered for a chunk: no node can do so for ever. */
const MAX_RUMOURED = 3;

/** Decides which node or origin serves the chunk. */
export function decideRoute<N extends RouteNode>(q: RouteQuestion<N>): Route<N> {
  return (
    (q.hops < q.maxHops && amongPeers(q)) || amongAll(q) || amongHolders(q) || { to: 'origin' }
  );
}

/** Chooses among peers; undefined if this node is the best of them. */
function amongPeers<N extends RouteNode>(q: RouteQuestion<N>): Route<N> | undefined {
  const candidates: (N | Hearsay<N>)[] =
    q.avoid.size === 0
      ? [...q.nodes]
      : q.nodes.filter((node) => node === q.self || !q.avoid.has(node.name));
  // The last hop must not be spent on a node that would have to forward once more.
  if (q.hops + 2 <= q.maxHops) candidates.push(...reachable(q));
  const replicas = rank(q.key, candidates, q.hops === 0 ? q.replicas : 1);
  const [best] = replicas;
  // Also on the first hop: a replica would not send the request back to this node, but to the
  // second best, which would fetch the chunk from the origin as well.
  if (best === undefined || best === q.self) return undefined;
  if (q.hops === 0) {
    const chosen = pickReplica(replicas, q.random);
    if (chosen !== q.self) return { to: 'peer', peer: next(q.key, chosen), keep: false };
    // This node is the chosen replica: continue as if the request had been forwarded to it.
  }
  return { to: 'peer', peer: next(q.key, best), keep: true };
}

/**
 * Chooses the best of all nodes when no peer is better or the hops between peers are used up;
 * undefined if that is this node.
 */
function amongAll<N extends RouteNode>(q: RouteQuestion<N>): Route<N> | undefined {
  const left = q.maxHops + BEYOND_HOPS - q.hops;
  if (q.far === undefined || left <= 0) return undefined;
  const [best = q.self] = rank(q.key, known(q), 1);
  const peer = (left > 1 && relayTo(q, best)) || best;
  return peer === q.self ? undefined : { to: 'peer', peer, keep: true };
}

/** Chooses a node that can reach a better one than the best that this node can reach. */
function relayTo<N extends RouteNode>(q: RouteQuestion<N>, best: N): N | undefined {
  const rumours = q.rumours?.();
  if (rumours === undefined || rumours.nodes.length === 0) return undefined;
  const candidates: HrwNode[] = rumours.nodes.filter(({ name }) => !q.avoid.has(name));
  candidates.push(best);
  for (const { name } of rank(q.key, candidates, MAX_RUMOURED)) {
    if (name === best.name) return undefined;
    const through = rumours.through(name);
    const relays = through.filter((node) => !q.avoid.has(node.name));
    if (through.length >= MIN_WITNESSES && relays.length > 0) return rank(q.key, relays, 1)[0];
  }
  return undefined;
}

/** Chooses the node that has the chunk if any has: its owner, or the next best. */
function amongHolders<N extends RouteNode>(q: RouteQuestion<N>): Route<N> | undefined {
  if (q.plainKey === undefined || q.hops >= q.maxHops + BEYOND_HOPS) return undefined;
  if (q.isRetry !== true && !isStandIn(q)) return undefined;
  const others = known(q).filter((node) => node !== q.self);
  const [peer] = rank(q.plainKey, others, 1);
  return peer === undefined ? undefined : { to: 'peer', peer, keep: true, ifHeld: true };
}

/**
 * Returns true if this node is best only because it has lost a better one, or avoids it. Others may
 * still use that one, and have the chunk from it.
 */
function isStandIn<N extends RouteNode>(q: RouteQuestion<N>): boolean {
  const better: HrwNode[] = [...(q.lost?.() ?? [])];
  if (q.avoid.size > 0) {
    for (const node of q.nodes) if (q.avoid.has(node.name)) better.push(node);
    for (const node of q.far?.() ?? []) if (q.avoid.has(node.name)) better.push(node);
  }
  return better.length > 0 && rank(q.key, [q.self, ...better], 1)[0] !== q.self;
}

/** Lists this node, and all that it can use and is not to avoid, near and far. */
function known<N extends RouteNode>(q: RouteQuestion<N>): N[] {
  const all = [...q.nodes, ...(q.far?.() ?? [])];
  return q.avoid.size === 0
    ? all
    : all.filter((node) => node === q.self || !q.avoid.has(node.name));
}

/** Lists the nodes known only from others that can still be reached through one of them. */
function reachable<N extends RouteNode>({ hearsay, avoid }: RouteQuestion<N>): Hearsay<N>[] {
  return hearsay.flatMap((node) => {
    const through = node.through.filter(({ name }) => !avoid.has(name));
    return through.length === 0 || avoid.has(node.name) ? [] : [{ ...node, through }];
  });
}

/**
 * Chooses the next node on the way to a node: itself, or the most responsible one that can reach
 * it.
 */
function next<N extends RouteNode>(key: string, node: N | Hearsay<N>): N {
  return 'through' in node ? (rank(key, node.through, 1)[0] as N) : node;
}
