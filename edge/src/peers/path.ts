/** How a request has come through the network so far. */

export interface Path {
  /** How often it has been forwarded; 0: it comes from this node's own client. */
  readonly hops: number;
  /** Names of the nodes it has passed, this one not included. */
  readonly via: readonly string[];
  /** Names of nodes that were asked in vain. */
  readonly avoid: readonly string[];
}

/** The path of a request that enters the network here. */
export const INGRESS: Path = { hops: 0, via: [], avoid: [] };
