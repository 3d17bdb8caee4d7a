/** Tells whether an address is on a link of this machine, by the networks of its interfaces. */

import ipaddr from 'ipaddr.js';

const NOWHERE: ReadonlySet<string> = new Set([
  ...['loopback', 'multicast', 'broadcast', 'unspecified'],
]);

/**
 * Returns true if a packet with this source address can have come from the link itself. Multicast DNS
 * ignores all others (RFC 6762 11), because they come from elsewhere, or lead there.
 *
 * @param address IPv4 address
 * @param network of the interface, such as `192.168.1.5/24`
 */
export function isOnLink(address: string, network: string): boolean {
  if (!ipaddr.isValid(address) || !ipaddr.isValidCIDR(network)) return false;
  const ip = ipaddr.process(address);
  const [start, bits] = ipaddr.parseCIDR(network);
  if (ip.kind() !== 'ipv4' || start.kind() !== 'ipv4') return false;
  // Loopback, multicast, broadcast, and no address at all are on no link.
  return !NOWHERE.has(ip.range()) && ip.match([start, bits]);
}
