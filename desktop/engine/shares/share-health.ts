/** Asks the depots of a file that was sent how its copies do, and replaces those that are lost. */

import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { MAX_PARTS } from '@millrace/shared/bridge/results/values';
import { eventsIn } from '@millrace/shared/exnode/depot-history';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { type Findings, lastEnd } from '@millrace/shared/exnode/findings';
import { type Health, healthOf } from '@millrace/shared/exnode/health';
import { findForAugment } from '../depots/find-for-augment.ts';
import type { KeptDepot } from '../settings/kept-depots.ts';
import type { KeptShare } from '../store/share-store.ts';
import { augmentExnode } from '../stored/augment-exnode.ts';
import { checkReplicas } from '../stored/check-replicas.ts';
import { replaceCopies } from '../stored/document-copies.ts';
import { KeptHistory } from '../upload/spread/kept-history.ts';
import type { ShareList } from './share-list.ts';
import { type Asked, firstEnd, placesOf } from './stored-share.ts';

/** Time without progress after which a depot is left. */
const RETRY_MS: Millis = 120_000;

export interface StoredFile {
  readonly share: KeptShare;
  readonly list: ShareList;
  /** The daemon's folder. */
  readonly state: string;
  readonly signal: AbortSignal;
}

export interface Repair extends StoredFile {
  /** Depots that are set up: no other depot gets a token. */
  readonly depots: () => readonly KeptDepot[];
  /** Monotonic milliseconds. */
  readonly clock: () => Millis;
}

/** Asks all depots of a file. @throws MillraceError `interrupted` */
export async function checkStored({ share, list, state, signal }: StoredFile): Promise<Health> {
  const exnode = list.exnode(share.id);
  const history = new KeptHistory(state);
  const findings = await find(exnode, history, signal);
  const { copies } = share;
  const seen = await history.read();
  return healthOf(exnode, findings, { seen, copies, maxParts: MAX_PARTS, now: Date.now() });
}

/**
 * Stores further copies of parts that lack some, at depots that are set up or found in their networks.
 *
 * @throws MillraceError as `findForAugment`, `augmentExnode`
 */
export async function repairStored(repair: Repair): Promise<Asked> {
  const { share, list, state, depots: known, clock, signal } = repair;
  const { id, copies } = share;
  const exnode = list.exnode(id);
  const history = new KeptHistory(state);
  const findings = await find(exnode, history, signal);
  const named = known().map(({ url: edge, token }) => ({ edge, token }));
  const end = Math.max(lastEnd(findings) ?? 0, share.expires ?? 0);
  const nothing = () => {};
  const observe = {
    ...{ begun: nothing, planned: nothing, sent: nothing, retried: nothing, left: nothing },
    ...{ fed: nothing, wrong: nothing, added: nothing, found: nothing, passed: nothing },
  };
  const { depots, forget } = await findForAugment({
    ...{
      path: share.path,
      exnode,
      findings,
      copies,
      named,
      state: join(state, 'shares', id),
      history,
      signal,
    },
    ...{ forMs: end - Date.now(), observe },
  });
  const done = await augmentExnode({
    ...{ exnode, findings, depots, copies, end, retryMs: RETRY_MS, signal, observe },
    ...{ now: clock, wallClock: Date.now },
    async write(changed) {
      const now = list.get(id);
      if (now !== undefined) list.keepExnode(now, changed);
    },
  });
  const after = done.exnode;
  if (done.added > 0) await replaceCopies(after, signal);
  if (done.failure === undefined) await forget();
  const change = { expires: firstEnd(after), places: placesOf(after) };
  return { exnode: after, error: done.failure, change };
}

async function find(exnode: Exnode, history: KeptHistory, signal: AbortSignal): Promise<Findings> {
  const findings = await checkReplicas({ exnode, signal, wallClock: Date.now });
  for (const [depot, event] of eventsIn(findings)) history.note(depot, event);
  await history.save();
  return findings;
}
