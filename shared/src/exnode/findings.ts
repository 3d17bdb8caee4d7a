/** Findings about the replicas of an exNode: which of them can still be read, and which are lost. */

import type { Millis } from '../base/clock.ts';
import type { ErrorCode, MillraceError } from '../base/errors.ts';
import type { ExnodeReplica } from './exnode.ts';
import { isOver } from './layout.ts';

/** State of a replica, as far as its place has told it. */
export type ReplicaState =
  /** It can be read. */
  | 'there'
  /** The place does not answer. */
  | 'silent'
  /** The place answers, and does not give it. */
  | 'failing'
  /** The place has ended its lease, or does not answer after its end. */
  | 'expired'
  /** The place has no such file. */
  | 'gone'
  /** The file there ends before the replica does. */
  | 'short'
  /** Some of its bytes are not those of the file, or the depot's disk has damaged them. */
  | 'damaged';

export interface Finding {
  readonly state: ReplicaState;
  /** The failure, if there is one. */
  readonly error?: MillraceError | undefined;
  /** End of the lease as the place tells it, Unix milliseconds. */
  readonly expires?: Millis | undefined;
  /**
   * Number of blocks whose digest is wrong, and the block of the file that the first of them is, or
   * is computed from.
   */
  readonly wrong?: { readonly blocks: number; readonly first: number } | undefined;
}

/** Findings by replica. */
export type Findings = ReadonlyMap<ExnodeReplica, Finding>;

/** Errors of places that do not answer, or whose answer breaks off. */
const SILENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(['origin-unreachable', 'origin-refused', 'origin-unknown', 'network-away'] as const),
  ...(['origin-timeout', 'origin-reset', 'proxy-failed'] as const),
]);

/**
 * Judges a replica by the failure of a request for it.
 *
 * @param now Unix milliseconds
 */
export function findingOf(error: MillraceError, replica: ExnodeReplica, now: Millis): Finding {
  return { state: stateOf(error, replica, now), error };
}

function stateOf({ code }: MillraceError, replica: ExnodeReplica, now: Millis): ReplicaState {
  if (code === 'origin-gone' && replica.expires !== undefined) return 'expired';
  if (code === 'origin-not-found' || code === 'origin-gone') {
    return isOver(replica, now) ? 'expired' : 'gone';
  }
  // Its depot has deleted it by now, whether it answers or not.
  if (SILENT.has(code)) return isOver(replica, now) ? 'expired' : 'silent';
  return code === 'wrong-length' ? 'short' : 'failing';
}

/**
 * Returns true for replicas that count: those that have been found to be there, and those that
 * nobody has asked for as long as their lease lasts.
 *
 * @param now Unix milliseconds
 */
export function counts(replica: ExnodeReplica, findings: Findings | undefined, now: Millis) {
  const finding = findings?.get(replica);
  return finding === undefined ? !isOver(replica, now) : finding.state === 'there';
}

/** Returns the last end of a lease of the replicas that are there; undefined: none is known. */
export function lastEnd(findings: Findings): Millis | undefined {
  let last: Millis | undefined;
  for (const [replica, { state, expires = replica.expires }] of findings) {
    if (state !== 'there' || expires === undefined) continue;
    last = Math.max(last ?? expires, expires);
  }
  return last;
}
