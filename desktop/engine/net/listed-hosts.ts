/**
 * Edges that other edges have named. Each request to one is held to what the user's own network
 * allows to those who named it, on every connection: a name may resolve differently the next time.
 */

import type { LookupFunction } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import { mayAskPlainly } from '@millrace/shared/download/transfer/plain-source';
import type { OwnNetwork } from './own-network.ts';

/** Networks of the edges that have named an edge, by its origin. */
const networks = new Map<string, OwnNetwork>();

/**
 * Admits an edge that another one has named.
 *
 * @param origin of the edge
 * @param by origin of the edge that names it, which the user has named
 * @param network seen from that edge
 * @throws MillraceError `source-refused` if it is in the user's own network and the other one is not,
 *   or if it is without TLS and the other one has it
 */
export function admitListed(origin: string, by: string, network: OwnNetwork): void {
  const target = new URL(origin);
  network.check(target);
  const download = new URL(by);
  if (!mayAskPlainly(target, { download, namedBy: 'other', start: target, digestKnown: false })) {
    throw new MillraceError('source-refused', { code: 'no-tls-at', values: { host: target.host } });
  }
  networks.set(origin, network);
}

/** Returns true for an edge that only another edge has named. */
export function isListed(origin: string): boolean {
  return networks.has(origin);
}

/** Returns the look-up that requests to a URL use; undefined: the system's. */
export function lookupFor(url: string): LookupFunction | undefined {
  return networks.get(new URL(url).origin)?.lookup;
}
