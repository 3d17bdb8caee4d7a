/** Keys of clients: addresses with the same key count as one client. */

import ipaddr from 'ipaddr.js';

/** Groups of an IPv6 address that make up the /64, which one subscriber has. */
const NETWORK_GROUPS = 4;
const KEY = /^[0-9a-f:]+::\/64$/;

/** Groups of an IPv6 address that make up a /48, which one site has. */
const SITE_GROUPS = 3;

/** Makes a key: an IPv4 address, or the /64 of an IPv6 address. Keys and other texts are kept. */
export function clientKey(address: string): string {
  if (KEY.test(address) || !ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv4') return ip.toString();
  return `${leading(ip as ipaddr.IPv6, NETWORK_GROUPS)}::/64`;
}

/**
 * Makes the key of the network whose clients have about the same way to everywhere: the /24 of an
 * IPv4 address, or the /48 of an IPv6 address. Undefined for a text that cannot be read as an address.
 */
export function networkKey(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv6') return `${leading(ip as ipaddr.IPv6, SITE_GROUPS)}::/48`;
  return `${(ip as ipaddr.IPv4).octets.slice(0, 3).join('.')}.0/24`;
}

function leading(ip: ipaddr.IPv6, groups: number): string {
  const parts = ip.parts.slice(0, groups);
  return parts.map((part) => part.toString(16)).join(':');
}
