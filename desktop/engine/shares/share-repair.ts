/** Replaces the copies of a file that depots have lost, or do not give, by others at further depots. */

import { join } from 'node:path';
import { shownRanges } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { allocationsOf } from '@millrace/shared/exnode/allocations';
import type { ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { type Findings, lastEnd } from '@millrace/shared/exnode/findings';
import { without } from '@millrace/shared/exnode/trim';
import { findForAugment } from '../depots/find-for-augment.ts';
import type { KeptDepot } from '../settings/kept-depots.ts';
import type { KeptShare } from '../store/share-store.ts';
import { type Augmented, type AugmentObserver, augmentExnode } from '../stored/augment-exnode.ts';
import { replaceCopies } from '../stored/document-copies.ts';
import { KeptHistory } from '../upload/spread/kept-history.ts';
import { findingsOf } from './share-health.ts';
import { keptError, type ShareList } from './share-list.ts';
import { type Asked, firstEnd, placesOf } from './stored-share.ts';

/** Time without progress after which a depot is left. */
const RETRY_MS: Millis = 120_000;

export interface Repair {
  readonly id: string;
  readonly list: ShareList;
  /** The daemon's folder. */
  readonly state: string;
  /** Depots that are set up: no other depot gets a token of theirs, but those of their networks. */
  readonly depots: () => readonly KeptDepot[];
  /** Unix milliseconds, and monotonic ones. */
  readonly now: () => Millis;
  readonly clock: () => Millis;
  readonly signal: AbortSignal;
}

/**
 * Stores further copies of parts that lack some, at depots that are set up or found in their networks.
 * Copies whose time is over are listed no more once all others are stored.
 *
 * @returns `copies-lost` as its error if no depot gives some of the bytes, otherwise what `augmentExnode` says
 * @throws MillraceError as `findForAugment`, `augmentExnode`
 */
export async function repairStored(repair: Repair): Promise<Asked> {
  const { id, list, state, now, clock, signal } = repair;
  const share = list.get(id) as KeptShare;
  const { copies } = share;
  const exnode = list.exnode(id);
  const history = new KeptHistory(state, now);
  const findings = await findingsOf(exnode, history, now, signal);
  const named = repair.depots().map(({ url: edge, token }) => ({ edge, token }));
  const end = endOf(share, findings, now());
  const observe = observerOf(id, list);
  const { depots, forget } = await findForAugment({
    ...{ path: share.path, exnode, findings, copies, named, history, signal, observe },
    ...{ forMs: end - now(), state: join(state, 'shares', id) },
  });
  const done = await augmentExnode({
    ...{ exnode, findings, depots, copies, end, retryMs: RETRY_MS, signal, observe, history },
    ...{ now: clock, wallClock: now },
    async write(changed) {
      const kept = list.get(id);
      if (kept !== undefined) list.keepExnode(kept, changed);
    },
  });
  const error = failureOf(done);
  const after = error === undefined ? withoutOver(done.exnode, findings) : done.exnode;
  // A copy of the exNode that a depot has not replaced still leads to the file.
  if (after !== exnode) await replaceCopies(after, signal);
  if (error === undefined) await forget();
  const isOf = (states: readonly string[]) => (replica: ExnodeReplica) =>
    states.includes(findings.get(replica)?.state ?? 'there');
  const places = placesOf(after, isOf(['there', 'silent', 'failing']));
  // If no depot answers, nothing is known of the end.
  const expires = firstEnd(after, isOf(['there'])) ?? share.expires;
  return { exnode: after, error, change: { expires, places } };
}

/** Returns the end of new copies: that of those that are there, or as long as the user has asked for. */
function endOf({ expires = 0, seconds }: KeptShare, findings: Findings, now: Millis): Millis {
  const last = Math.max(lastEnd(findings) ?? 0, expires);
  return last > now ? last : now + seconds * 1000;
}

function failureOf({ failure, missing }: Augmented): MillraceError | undefined {
  if (failure !== undefined || missing.length === 0) return failure;
  return new MillraceError('copies-lost', shownRanges(missing));
}

/** Takes spaces out of an exNode whose time is over: there is nothing to extend and nothing to delete. */
function withoutOver(exnode: Augmented['exnode'], findings: Findings): Augmented['exnode'] {
  const over = allocationsOf(exnode).filter(({ replicas }) =>
    replicas.every((replica) => findings.get(replica)?.state === 'expired'),
  );
  return over.length === 0 ? exnode : without(exnode, over);
}

/** Shows the progress of a repair, and what goes wrong meanwhile. */
function observerOf(
  id: string,
  list: ShareList,
): AugmentObserver & { found: () => void; passed: () => void } {
  let [storedBytes, totalBytes] = [0, 0];
  const tell = () => list.setProgress(id, { repair: { storedBytes, totalBytes } });
  const trouble = (error: MillraceError) => list.change(id, { trouble: keptError(error) });
  const nothing = () => {};
  return {
    ...{ fed: nothing, wrong: nothing, added: nothing, found: nothing, passed: nothing },
    begun(bytes, stored) {
      [storedBytes, totalBytes] = [stored, bytes];
      tell();
    },
    planned(bytes) {
      totalBytes = bytes;
      tell();
    },
    sent(bytes) {
      if (list.get(id)?.trouble !== undefined) list.change(id, { trouble: undefined });
      storedBytes = bytes;
      tell();
    },
    retried: trouble,
    left: (_depot, error) => trouble(error),
  };
}
