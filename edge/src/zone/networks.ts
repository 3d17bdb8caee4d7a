/** Networks of resolvers, for the limit on answers that may go to forged addresses. */

import ipaddr from 'ipaddr.js';

/** Bits that one network has in common: a forger can name any address of a victim's network. */
const BITS = { ipv4: 24, ipv6: 56 } as const;

/** Returns the key of the network that an address belongs to. */
export function askingNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  const bytes = ip.toByteArray();
  return Buffer.from(bytes.slice(0, BITS[ip.kind()] / 8)).toString('hex');
}
