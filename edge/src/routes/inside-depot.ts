/** Answers questions of other nodes about files of this node's depot, and about exNodes that it keeps. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { type DepotQuestion, depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import type { Depot } from '../depot/depot.ts';
import type { ExnodeKeeper } from '../keeping/exnode-keeper.ts';
import type { StoredFile } from '../peers/depot-message.ts';

export interface DepotAnswers {
  readonly depot: Depot | undefined;
  readonly copies: ExnodeKeeper | undefined;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/**
 * Answers a question.
 *
 * @param signal of the node that asks
 * @throws MillraceError those of `Depot.ready`, `Depot.findFor`, `ExnodeKeeper.findFor` and `ExnodeKeeper.keep`
 */
export async function answerQuestion(
  { depot, copies, wallClock }: DepotAnswers,
  { id, proof, keep }: DepotQuestion,
  signal: AbortSignal,
): Promise<StoredFile> {
  await depot?.ready(signal);
  const isOwn = depot?.get(id) !== undefined || depot?.tag === depotTagOf(id);
  if (depot !== undefined && isOwn && !keep) {
    const { name, type, edition, expiresAt, final } = depot.findFor(id, proof).head;
    const { length = 0, sha256 = '' } = final ?? {};
    return { length, sha256, name, type, edition, leftMs: Math.max(0, expiresAt - wallClock()) };
  }
  if (copies === undefined || isOwn) throw new MillraceError('no-such-allocation');
  return keep ? copies.keep(id, proof, signal) : copies.findFor(id, proof);
}
