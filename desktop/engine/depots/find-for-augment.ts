/** Finds depots for an augmentation for which the user has named too few. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import { needOf } from '@millrace/shared/exnode/augment-need';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import type { Findings } from '@millrace/shared/exnode/findings';
import { depotOf } from '@millrace/shared/exnode/layout';
import { allReplicas } from '@millrace/shared/exnode/replicas';
import type { DepotAccess } from '../upload/spread-upload.ts';
import { type FindOptions, type FoundDepots, findDepots } from './find-depots.ts';

export interface FindForAugmentOptions
  extends Pick<FindOptions, 'named' | 'state' | 'history' | 'signal' | 'observe'> {
  /** The file of the exNode, an absolute path. */
  readonly path: string;
  readonly exnode: Exnode;
  readonly findings: Findings;
  readonly copies: number;
  /** Time from now for which replicas are stored. */
  readonly forMs: Millis;
}

/**
 * Returns the named depots, and others of their networks as far as they are needed. Depots that have a
 * replica of the file, or may have one, are not found. Those with space that an earlier run has begun
 * to fill count as named.
 *
 * @throws MillraceError `bad-exnode` as `Augmentation`; the signal's reason
 */
export async function findForAugment(options: FindForAugmentOptions): Promise<FoundDepots> {
  const { named, path, exnode, findings, copies, ...rest } = options;
  const own = named.map(({ edge }) => edge);
  const begun = (exnode.begun ?? []).map(({ replica }) => depotOf(replica));
  const need = needOf(exnode, findings, copies, [...new Set([...own, ...begun])]);
  if (need === undefined) return enough(named);
  try {
    return await findDepots({
      ...{ named, count: named.length + need.depots, bytes: need.bytes, ...rest },
      without: new Set([...holdersOf(exnode, findings), ...begun]),
      upload: ['augment', path, `copies ${copies}`, ...own],
    });
  } catch (error) {
    if (!isMillraceError(error, 'too-few-depots')) throw error;
    // The augmentation says which bytes lack a depot.
    return enough(named);
  }
}

/** Lists the depots that have replicas, or do not say, or have damaged some. */
function holdersOf(exnode: Exnode, findings: Findings): string[] {
  return allReplicas(exnode).flatMap(({ replica, extent }) => {
    const state = findings.get(replica)?.state;
    const isFree = extent === undefined || state === 'expired' || state === 'gone';
    return isFree ? [] : depotOf(replica);
  });
}

function enough(depots: readonly DepotAccess[]): FoundDepots {
  return { depots, forget: async () => {} };
}
