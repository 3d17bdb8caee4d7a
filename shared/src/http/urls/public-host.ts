/** Tells which hosts belong to the public internet, as far as their names show. */

import { ipLiteral, isPublicAddress } from './public-address.ts';

/**
 * Names with a meaning on one network only (RFC 6761, 6762, 8375, and names in common use).
 */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/**
 * Returns true if an edge may be told of a file. Files in the user's own network are named only to
 * edges in that network, which serve them only if their operators have listed the host.
 *
 * @param edge base URL
 * @param isHome true if the file is in the user's own network
 */
export function mayBeTold(edge: string, isHome: boolean): boolean {
  return !isHome || !isPublicHost(new URL(edge).hostname);
}

/**
 * Returns false for private addresses and for names with a meaning on one network only. A public
 * name may still resolve to a private address, which is checked when the connection is made.
 *
 * @param hostname as in `URL.hostname`
 */
export function isPublicHost(hostname: string): boolean {
  const literal = ipLiteral(hostname);
  if (literal !== undefined) return isPublicAddress(literal);
  const name = hostname.replace(/\.+$/, '');
  return name.includes('.') && !LOCAL_NAME.test(name);
}
