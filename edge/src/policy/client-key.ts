/** Makes the key of a client: addresses that count as one. */

import ipaddr from 'ipaddr.js';

/** Groups of an IPv6 address that make up the /64, which is what one subscriber has. */
const NETWORK_GROUPS = 4;
const KEY = /^[0-9a-f:]+::\/64$/;

/** An IPv4 address, or the /64 of an IPv6 address; what is neither, or a key already, as it is. */
export function clientKey(address: string): string {
  if (KEY.test(address) || !ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv4') return ip.toString();
  const groups = (ip as ipaddr.IPv6).parts.slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}
