/** Draws exNodes with replicas at numbered depots, and what was found of each. */

import fc from 'fast-check';
import type { Exnode, ExnodeReplica, Extent } from '../../src/exnode/exnode.ts';
import type { Finding, ReplicaState } from '../../src/exnode/findings.ts';

export const MIB = 2 ** 20;
/** States of replicas, as often as they are drawn. */
export const STATES: readonly ReplicaState[] = [
  ...(['there', 'there', 'there', 'silent', 'failing'] as const),
  ...(['expired', 'gone', 'short', 'damaged'] as const),
];

/** Returns the address of a depot by its number. */
export const addressOf = (depot: number) => `http://d${depot}.example`;
/** Makes a replica at a depot. */
export const replicaAt = (depot: number): ExnodeReplica => ({
  read: `${addressOf(depot)}/x`,
  at: 0,
});

/** Makes an exNode of extents. */
export function exnodeOf(extents: readonly Extent[]): Exnode {
  const size = extents.at(-1)?.end ?? 0;
  const blocks = { algorithm: 'sha256', pieceBytes: MIB, hexes: [] } as const;
  return { name: 'a', size, root: '', blocks, extents };
}

/** Makes an exNode, one MiB per extent, from the depots and states of the replicas of each. */
export function stored(shapes: readonly (readonly (readonly [number, ReplicaState])[])[]) {
  const findings = new Map<ExnodeReplica, Finding>();
  const extents = shapes.map((places, i): Extent => {
    const replicas = places.map(([depot, state]) => {
      const replica = replicaAt(depot);
      findings.set(replica, { state });
      return replica;
    });
    return { start: i * MIB, end: (i + 1) * MIB, replicas };
  });
  return { exnode: exnodeOf(extents), findings };
}

/** Draws the depots and states of the replicas of each extent. */
export const shapes = fc.array(
  fc.uniqueArray(fc.tuple(fc.nat(6), fc.constantFrom(...STATES)), {
    selector: ([depot]) => depot,
    maxLength: 5,
  }),
  { maxLength: 8 },
);
/** Draws numbers of replicas that are wanted. */
export const counts = fc.integer({ min: 1, max: 5 });
/** Draws the depots that are named. */
export const named = fc.subarray([0, 1, 2, 3, 4, 5, 6]);
