/** Limits of owners, and the words of their refusals. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { Allowance, Refusal } from '@millrace/shared/cdn/upkeep/lease-ledger';

/** Allowance of an owner who has been struck off. */
export const NO_MORE: Allowance = { bytes: 0, leases: 0 };

/** Returns what the leases of an owner may have together. */
export function allowanceOf({ bytes, count }: Owner): Allowance {
  return { bytes, leases: count };
}

/** Checks the size of one allocation. @throws MillraceError `allocation-refused` */
export function checkSize({ each }: Owner, bytes: number): void {
  if (bytes <= each) return;
  const most = `one allocation may have ${formatBytes(each)}`;
  throw new MillraceError('allocation-refused', `size: ${most}`);
}

/**
 * Checks the time of a lease.
 *
 * @param owner undefined: one who has been struck off, and gets none
 * @param maxMs longest lease of the depot
 * @returns the time
 * @throws MillraceError `allocation-refused`
 */
export function checkLease(owner: Owner | undefined, forMs: Millis, maxMs: Millis): Millis {
  const most = Math.min(maxMs, owner?.forMs ?? 0);
  if (forMs <= most) return forMs;
  const seconds = Math.floor(most / 1000);
  throw new MillraceError('allocation-refused', `lease: at most ${seconds} s at a time`);
}

/**
 * Reports a refusal of the ledger, if there is one.
 *
 * @throws MillraceError `allocation-refused` that names the limit, and what is left of it
 */
export function refuse(refusal: Refusal | undefined): void {
  if (refusal === undefined) return;
  const { limit, left } = refusal;
  const words = {
    quota: `quota: ${formatBytes(left)} of the depot are left`,
    leases: 'count: the depot takes no more allocations',
    'owner-bytes': `quota: ${formatBytes(left)} of yours are left`,
    'owner-leases': 'count: you have as many allocations as you may have',
  };
  throw new MillraceError('allocation-refused', words[limit]);
}
