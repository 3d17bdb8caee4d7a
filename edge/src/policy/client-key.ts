/** Makes the key of a client: addresses that count as one. */

import ipaddr from 'ipaddr.js';

/** Groups of an IPv6 address in its /64, the network of one subscriber. */
const NETWORK_GROUPS = 4;
const KEY = /^[0-9a-f:]+::\/64$/;

/**
 * An IPv4 address, or the /64 of an IPv6 address; other texts, keys among them, stay as they are.
 */
export function clientKey(address: string): string {
  if (KEY.test(address) || !ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv4') return ip.toString();
  const groups = (ip as ipaddr.IPv6).parts.slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}
