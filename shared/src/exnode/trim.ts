/** Decides what a trim removes, so that nothing is lost unless everything is to be. */

import { type RangeSet, shownRanges } from '../base/byte-range.ts';
import { MillraceError } from '../base/errors.ts';
import { allocationsOf, type ManagedAllocation } from './allocations.ts';
import type { Exnode, ExnodeReplica } from './exnode.ts';
import type { Finding, Findings } from './findings.ts';
import { coverage } from './layout.ts';
import { withReplicas } from './replicas.ts';

/** Choice of the replicas that are removed: those of any kind that is set. */
export interface TrimChoice {
  /** True for replicas that are gone, or whose lease is over. */
  readonly expired: boolean;
  /** True for replicas with wrong bytes, or too few. */
  readonly damaged: boolean;
  /** Depots that keep none: scheme, host and port. */
  readonly depots: readonly string[];
}

const UNASKED: Finding = { state: 'silent' };

/**
 * Plans a trim. An allocation goes as a whole. Of each byte that had a replica one stays listed; of
 * each byte whose replica may be right, one stays that is there.
 *
 * @param findings answers of the places
 * @returns the allocations to remove
 * @throws MillraceError `last-replica` that names the bytes; `bad-exnode` as `allocationsOf`
 */
export function planTrim(
  exnode: Exnode,
  findings: Findings,
  { expired, damaged, depots }: TrimChoice,
): ManagedAllocation[] {
  const found = (replica: ExnodeReplica) => findings.get(replica) ?? UNASKED;
  const isChosen = (replica: ExnodeReplica) =>
    (expired && isLost(found(replica))) || (damaged && isDamaged(found(replica)));
  const chosen = allocationsOf(exnode).filter(
    ({ depot, replicas }) => depots.includes(depot) || replicas.some(isChosen),
  );
  const removed = new Set(chosen.flatMap(({ replicas }) => replicas));
  const isUseless = (replica: ExnodeReplica) => isLost(found(replica)) || isDamaged(found(replica));
  checkLeft(
    goingFrom(
      exnode,
      (replica) => removed.has(replica),
      () => true,
    ),
    coverage(exnode, (replica) => !removed.has(replica)),
    'no other replica is listed',
  );
  const isUseful = (replica: ExnodeReplica) => !isUseless(replica);
  checkLeft(
    goingFrom(exnode, (replica) => removed.has(replica) && isUseful(replica), isUseful),
    coverage(exnode, (replica) => !removed.has(replica) && found(replica).state === 'there'),
    'no other depot answers for them',
  );
  return chosen;
}

/** Returns true if nothing seems to be left of an allocation. */
export function seemsLost({ replicas }: ManagedAllocation, findings: Findings): boolean {
  return replicas.every((replica) => isLost(findings.get(replica) ?? UNASKED));
}

/** Returns an exNode without some allocations. */
export function without(exnode: Exnode, removed: readonly ManagedAllocation[]): Exnode {
  const gone = new Set(removed.flatMap(({ replicas }) => replicas));
  return withReplicas(exnode, (replica) => (gone.has(replica) ? undefined : replica));
}

/** Returns true for replicas whose bytes are lost, whatever happens to their places. */
function isLost({ state }: Finding): boolean {
  return state === 'expired' || state === 'gone';
}

/** Returns true for replicas that lie there with wrong bytes, or with too few. */
function isDamaged({ state }: Finding): boolean {
  return state === 'damaged' || state === 'short';
}

/**
 * Lists the bytes that may be lost: those of extents of which a replica goes.
 *
 * @param counts tells of which replicas bytes could be had before
 */
function goingFrom(
  exnode: Exnode,
  goes: (replica: ExnodeReplica) => boolean,
  counts: (replica: ExnodeReplica) => boolean,
): RangeSet {
  const extents = exnode.extents.filter(({ replicas }) => replicas.some(goes));
  const coded = exnode.coded?.filter(({ shards }) => shards.flat().some(goes));
  return coverage({ ...exnode, extents, coded }, counts);
}

/** @throws MillraceError `last-replica` if bytes go and do not stay */
function checkLeft(going: RangeSet, staying: RangeSet, why: string): void {
  const lost = going.ranges.flatMap((range) => staying.missing(range));
  if (lost.length > 0) throw new MillraceError('last-replica', `${shownRanges(lost)}: ${why}`);
}
