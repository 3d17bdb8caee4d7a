/**
 * Which files may be fetched through edges at all. Edges see what they are asked for, keep it, and
 * give it to others: what is not for everybody is not asked of them.
 */

import { ipLiteral, isPublicAddress } from '../http/public-address.ts';
import { looksSigned } from './signed-url.ts';

/** Names that mean something on one network only (RFC 6761, 6762, 8375, and what networks use). */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/**
 * False for URLs with credentials (user name, signature or token), for requests with a log-in, and
 * for hosts at addresses that are not of the public internet. A name may still lead to one: that is
 * for edges to see (`private-address`).
 *
 * @param url of a file, http or https
 * @param headers of the user's request, names in lower case
 */
export function mayUseEdges(url: string, headers: Readonly<Record<string, string>>): boolean {
  const { hostname, protocol, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  if (username + password !== '' || headers.authorization !== undefined || looksSigned(url)) {
    return false;
  }
  const literal = ipLiteral(hostname);
  if (literal !== undefined) return isPublicAddress(literal);
  const name = hostname.replace(/\.$/, '');
  return name.includes('.') && !LOCAL_NAME.test(name);
}
