/** Keys of clients: addresses with the same key count as one client. */

import ipaddr from 'ipaddr.js';

/** Groups of an IPv6 address that make up the /64, which one subscriber has. */
const NETWORK_GROUPS = 4;
const KEY = /^[0-9a-f:]+::\/64$/;

/** Makes a key: an IPv4 address, or the /64 of an IPv6 address. Keys and other texts are kept. */
export function clientKey(address: string): string {
  if (KEY.test(address) || !ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv4') return ip.toString();
  const groups = (ip as ipaddr.IPv6).parts.slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}
