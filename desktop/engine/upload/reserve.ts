/** Reserves space in a depot for what is to be written down before the first byte is stored. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { manageLinkOf } from '@millrace/shared/exnode/manage-link';
import { isDepotTarget } from '@millrace/shared/http/urls/depot-link';
import { parseOriginUrl } from '@millrace/shared/http/urls/prefixed-url';
import { isListed } from '../net/listed-hosts.ts';
import { type Allocated, allocate } from './depot-client.ts';

/**
 * Time of the first lease: if this process ends before it has written down where the space is, it is
 * free again soon.
 */
export const FIRST_LEASE_MS: Millis = 600_000;

export interface Reservation {
  /** Base URL of the depot. */
  readonly edge: string;
  readonly token: string;
  readonly bytes: number;
  /** Name that the file gets. */
  readonly name: string;
  /** Its media type; undefined: none is told. */
  readonly type?: string;
  /** Time from now for which the file is to be stored: the lease begins with less. */
  readonly forMs: Millis;
  readonly signal: AbortSignal;
}

/** Reserves space with the first lease. @throws MillraceError as `allocate` */
export async function reserve(reservation: Reservation): Promise<Allocated> {
  const { edge, token, bytes, name, type, forMs, signal } = reservation;
  const seconds = Math.ceil(Math.min(forMs, FIRST_LEASE_MS) / 1000);
  const allocated = await allocate(edge, token, { bytes, seconds, name, type }, signal);
  if (isOfDepot(allocated) && isAt(allocated, edge)) return allocated;
  throw new MillraceError('malformed-response', 'that is not the answer of a depot');
}

/** Returns true for links that an exNode can list: of one file in a depot, without a log-in. */
function isOfDepot({ read, write, manage }: Allocated): boolean {
  try {
    const links = [read, write, manage].map((link) => new URL(parseOriginUrl(link).href));
    manageLinkOf({ read, at: 0, manage });
    return links.every(({ pathname }) => isDepotTarget(pathname));
  } catch {
    return false;
  }
}

/** Returns true unless only another edge has named the depot, and its links lead elsewhere. */
function isAt({ read, write, manage }: Allocated, edge: string): boolean {
  if (!isListed(edge)) return true;
  return [read, write, manage].every((link) => new URL(link).origin === edge);
}

/** Returns true for errors that tell that a depot does not have an allocation any more. */
export function isGone(error: unknown): boolean {
  return (
    isMillraceError(error, 'no-such-allocation') || isMillraceError(error, 'allocation-expired')
  );
}
