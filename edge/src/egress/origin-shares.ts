/** Shares of origins, and of connections to one, that a client may have. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';

/** Part of all origins that one client may have requests to at a time. */
const CLIENT_SHARE = 1 / 4;
/** Part of the connections to one origin that tunnels and version requests of one client may take. */
const CLIENT_CONNECTIONS_SHARE = 3 / 4;
const BUSY_RETRY_MS: Millis = 1000;

/** Returns the most origins that one client may have requests to at a time. */
export function originShare(maxOrigins: number): number {
  return Math.ceil(maxOrigins * CLIENT_SHARE);
}

/** Tunnels and version requests to one origin that one client may have under way. */
export function originTurns(connections: number): number {
  return Math.ceil(connections * CLIENT_CONNECTIONS_SHARE);
}

/** Makes the error of a client that has its share, or has lost a place. */
export function tooManyOrigins(detail: string): MillraceError {
  return new MillraceError('too-many-origins', detail, { retryAfterMs: BUSY_RETRY_MS });
}
