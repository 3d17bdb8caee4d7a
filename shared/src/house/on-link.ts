/** Tells whether an address is on a link of this machine, by the networks of its interfaces. */

import ipaddr from 'ipaddr.js';

/**
 * Returns true if a packet with this source address can have come from the link itself. Multicast DNS
 * ignores all others (RFC 6762 11), because they come from elsewhere, or lead there.
 *
 * @param address IPv4 address
 * @param network of the interface, such as `192.168.1.5/24`
 */
export function isOnLink(address: string, network: string): boolean {
  if (!ipaddr.IPv4.isValid(address) || !ipaddr.IPv4.isValidCIDR(network)) return false;
  const ip = ipaddr.IPv4.parse(address);
  if (!['private', 'unicast', 'linkLocal', 'carrierGradeNat', 'reserved'].includes(ip.range())) {
    return false; // loopback, multicast, broadcast, or no address at all
  }
  return ip.match(ipaddr.IPv4.parseCIDR(network));
}
