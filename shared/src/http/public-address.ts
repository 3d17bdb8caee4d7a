/**
 * Which addresses are of the public internet: the one rule for what edges connect to, and for what
 * they are asked.
 */

import ipaddr from 'ipaddr.js';

/** RFC 4291 2.4, as IANA hands it out. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/**
 * True for addresses of the public internet. Everything with a special meaning is refused:
 * private, loopback, link-local and metadata, multicast, documentation, and the forms that carry
 * an IPv4 address inside an IPv6 one unless that address is public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // `process` turns ::ffff:a.b.c.d into a.b.c.d.
  const ip = ipaddr.process(address);
  // All that is assigned so far; outside there is also the old form ::a.b.c.d of IPv4 addresses.
  const assigned = ip.kind() === 'ipv4' || ip.match(GLOBAL_UNICAST);
  return assigned && ip.range() === 'unicast';
}

/** The IP literal in a URL's hostname without brackets, or undefined for names. */
export function ipLiteral(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
}
