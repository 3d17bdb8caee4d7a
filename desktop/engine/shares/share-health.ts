/** Asks the depots of a file that was sent how its copies do. */

import type { Millis } from '@millrace/shared/base/clock';
import type { ShareHealth } from '@millrace/shared/bridge/rpc/share-api';
import { eventsIn } from '@millrace/shared/exnode/depot-history';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import type { Findings } from '@millrace/shared/exnode/findings';
import { healthOf } from '@millrace/shared/exnode/health/health';
import type { KeptShare } from '../store/share-store.ts';
import { checkReplicas } from '../stored/check-replicas.ts';
import { KeptHistory } from '../upload/spread/kept-history.ts';
import type { ShareList } from './share-list.ts';

export interface Check {
  readonly share: KeptShare;
  readonly list: ShareList;
  /** The daemon's folder. */
  readonly state: string;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  readonly signal: AbortSignal;
}

/** Asks all depots of a file. @throws MillraceError `interrupted`, `bad-exnode` */
export async function checkStored({
  share,
  list,
  state,
  now,
  signal,
}: Check): Promise<ShareHealth> {
  const exnode = list.exnode(share.id);
  const history = new KeptHistory(state, now);
  const findings = await findingsOf(exnode, history, now, signal);
  const { copies, link } = share;
  const seen = await history.read();
  const { holders, ...health } = healthOf(exnode, findings, { seen, copies, now: now() });
  const ofLink = link === undefined ? undefined : new URL(link).origin;
  const depots = holders.map((one) => ({ ...one, isLink: one.depot === ofLink }));
  return { ...health, depots, wantedCopies: copies };
}

/**
 * Asks all depots of a file for its replicas, and notes how they did.
 *
 * @param now Unix milliseconds
 * @throws MillraceError `interrupted`
 */
export async function findingsOf(
  exnode: Exnode,
  history: KeptHistory,
  now: () => Millis,
  signal: AbortSignal,
): Promise<Findings> {
  const findings = await checkReplicas({ exnode, signal, wallClock: now });
  for (const [depot, event] of eventsIn(findings)) history.note(depot, event);
  await history.save();
  return findings;
}
