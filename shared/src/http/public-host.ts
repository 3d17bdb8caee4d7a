/** Which hosts are of the public internet, as far as their names say. */

import { ipLiteral, isPublicAddress } from './public-address.ts';

/** Names that mean something on one network only (RFC 6761, 6762, 8375, and what networks use). */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa)$/;

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
