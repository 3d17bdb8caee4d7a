/**
 * The allocations of an exNode. One may hold several extents, and a depot releases and extends it as
 * a whole: so what is managed are allocations, and not replicas.
 */

import type { Millis } from '../base/clock.ts';
import { MillraceError } from '../base/errors.ts';
import type { Exnode, ExnodeReplica } from './exnode.ts';
import { depotOf } from './layout.ts';
import { manageLinkOf } from './manage-link.ts';
import { allReplicas, withReplicas } from './replicas.ts';

export interface ManagedAllocation {
  /** Depot that its replicas are read from. */
  readonly depot: string;
  /** Address that manages it; undefined if it is a file of a server that gives no such right. */
  readonly manage: string | undefined;
  /** All replicas that lie in it, copies of the exNode itself and begun ones included. */
  readonly replicas: readonly ExnodeReplica[];
}

/** Longest time by which the clock of a depot may be ahead. */
const CLOCK_MS: Millis = 86_400_000;

/**
 * Lists the allocations of an exNode, in the order in which it names them.
 *
 * @throws MillraceError `bad-exnode` if it gives no right to manage any, or a wrong address
 */
export function allocationsOf(exnode: Exnode): ManagedAllocation[] {
  const listed = [...allReplicas(exnode), ...(exnode.begun ?? [])].map(({ replica }) => replica);
  const byKey = Map.groupBy(listed, (replica) => manageLinkOf(replica) ?? replica.read);
  const found = [...byKey.values()].map((replicas): ManagedAllocation => {
    const [first] = replicas as [ExnodeReplica];
    return { depot: depotOf(first), manage: manageLinkOf(first), replicas };
  });
  if (found.some(({ manage }) => manage !== undefined)) return found;
  const why = 'this copy of it gives no right to change what is stored: the one of the upload does';
  throw new MillraceError('bad-exnode', why);
}

/** Returns an exNode with the ends that depots have granted. */
export function withEnds(exnode: Exnode, ends: ReadonlyMap<ManagedAllocation, Millis>): Exnode {
  const granted = new Map<ExnodeReplica, Millis>();
  for (const [{ replicas }, end] of ends) for (const replica of replicas) granted.set(replica, end);
  return withReplicas(exnode, (replica) => {
    const expires = granted.get(replica);
    return expires === undefined ? replica : { ...replica, expires };
  });
}

/**
 * Checks the end of a lease that a depot has granted.
 *
 * @param told by the depot, RFC 3339
 * @param now Unix milliseconds
 * @param asked the end that was asked for
 * @throws MillraceError `malformed-response` for an end that the depot cannot have granted
 */
export function grantedEnd(told: string, now: Millis, asked: Millis): Millis {
  const end = Date.parse(told);
  if (end >= now - CLOCK_MS && end <= asked + CLOCK_MS) return end;
  throw new MillraceError('malformed-response', `the depot names ${told} as the end of the lease`);
}
