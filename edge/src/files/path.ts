/** How a request has come through the network so far. */

import type { InterimAnswer } from '@millrace/shared/http/answers/interim-answer';
import type { LinkGrant } from '@millrace/shared/node/link-signature';

/** Most names of nodes in one field of a request: a longer list is not read. */
export const MAX_NAMES = 64;

export interface Path {
  /** Number of times it was forwarded; 0: it comes from this node's own client. */
  readonly hops: number;
  /** Names of the nodes it has passed, this one not included. */
  readonly via: readonly string[];
  /** Letters that earlier nodes have added to the chunk's name, for retries (NSDI 3.3). */
  readonly salt: string;
  /** Names of nodes not to be asked: they have failed or, in a request with a salt, are late. */
  readonly avoid: readonly string[];
  /** Grant of the signed link that the client has used. */
  readonly grant?: LinkGrant | undefined;
  /** Requester for which origins are asked: the client's key, or the asking node. */
  readonly client?: string | undefined;
  /** `traceparent` for requests that follow. */
  readonly trace?: string | undefined;
  /**
   * Passes interim answers of the origin on, if this request is the one for which it is asked. Other
   * nodes are not told them, nor clients that join the question of another one.
   */
  readonly onInterim?: OnInterim | undefined;
}

/** Passes an interim answer on to the client. */
export type OnInterim = (answer: InterimAnswer) => void;

/** The path of a request that enters the network here. */
export const INGRESS: Path = { hops: 0, salt: '', via: [], avoid: [] };

/** Most hops accepted, more than any setting allows: no node of this network sends more. */
export const MAX_HOPS_READ = 16;

/**
 * The path of a question to a depot, and of a request for the bytes of its files. The depot has the
 * answer and waits for nobody, so these have connections of their own, those of the last hop.
 */
export const TO_DEPOT: Path = { hops: MAX_HOPS_READ - 1, salt: '', via: [], avoid: [] };

/**
 * The path of a request that a node keep a copy of an exNode. That node asks the depot before it
 * answers, so these have connections of their own as well.
 */
export const TO_KEEPER: Path = { ...TO_DEPOT, hops: TO_DEPOT.hops - 1 };

/** Returns true for the path of a request that was sent to a depot, as the depot reads it. */
export function isToDepot({ hops }: Path): boolean {
  return hops === TO_DEPOT.hops + 1;
}

/**
 * Returns the path with more nodes to avoid: as many as other nodes read, since they ignore a longer
 * list with all that it names.
 */
export function avoiding<P extends Path>(path: P, names: readonly string[]): P {
  const avoid = [...new Set([...path.avoid, ...names])].slice(0, MAX_NAMES);
  return { ...path, avoid };
}

const NODE_PREFIX = 'node ';

/**
 * Names the requester of another node's request: that node, which stands for many clients.
 *
 * @param tag of the client for which the node asks; undefined: the node does not say
 */
export function nodeClient(name: string, tag: string | undefined): string {
  return tag === undefined ? NODE_PREFIX + name : `${NODE_PREFIX}${name} ${tag}`;
}

/** Returns true if the requester is another node instead of a client of this one. */
export function isNodeClient(client: string): boolean {
  return client.startsWith(NODE_PREFIX);
}
