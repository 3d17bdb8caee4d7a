/** Tells which hosts are of the public internet, as far as their names show. */

import { ipLiteral, isPublicAddress } from './public-address.ts';

/**
 * Names that have a meaning on one network only (RFC 6761, 6762, 8375, and names in common use).
 */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/**
 * Whether an edge may be told of a file. Files in the user's own network are named only to edges in
 * that network, which serve them only where their operators have listed the host.
 *
 * @param isHome the file is in the user's own network
 * @param edge base URL
 */
export function mayBeTold(edge: string, isHome: boolean): boolean {
  return !isHome || !isPublicHost(new URL(edge).hostname);
}

/**
 * False for private addresses and for names that mean something on one network only. A name that is
 * public may still lead to a private address: that shows where the connection is made.
 *
 * @param hostname as in `URL.hostname`
 */
export function isPublicHost(hostname: string): boolean {
  const literal = ipLiteral(hostname);
  if (literal !== undefined) return isPublicAddress(literal);
  const name = hostname.replace(/\.+$/, '');
  return name.includes('.') && !LOCAL_NAME.test(name);
}
