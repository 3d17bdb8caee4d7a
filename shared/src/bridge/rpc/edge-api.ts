/** The edges that the user has set up, and what trying one out tells. */

export const MAX_EDGES = 16;

export interface EdgeEntry {
  /** Base URL: scheme, host and port; tells it from all others. */
  readonly url: string;
  /** What the user calls it; empty: nothing. */
  readonly name: string;
  /** Used by downloads that are added with `useEdges`. */
  readonly enabled: boolean;
  /** True: the edge that runs on this machine for its user; it comes and goes by itself. */
  readonly local: boolean;
}

/** A node of the network that an edge belongs to. */
export interface EdgeNode {
  readonly name: string;
  readonly url: string;
  readonly healthy: boolean;
  /** As the edge that was asked has measured it, milliseconds. */
  readonly rttMs?: number | undefined;
}

export interface EdgeTest {
  readonly url: string;
  readonly ok: boolean;
  /** The shortest of three, milliseconds. */
  readonly rttMs?: number | undefined;
  /** The node that answered, where it tells. */
  readonly name?: string | undefined;
  /** It takes no more transfers. */
  readonly draining?: boolean | undefined;
  readonly nodes: readonly EdgeNode[];
  /** Why not ok: not an edge at all, or it cannot be reached. */
  readonly problem?: 'unreachable' | 'timeout' | 'not-an-edge' | undefined;
}
