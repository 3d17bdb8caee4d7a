/**
 * Decides which addresses belong to the public internet. The same rule applies to the addresses
 * that edges connect to and to the requests that they get.
 */

import ipaddr from 'ipaddr.js';
import { CLOUD_SERVICES } from './cloud-services.ts';

/** IPv6 addresses that IANA assigns (RFC 4291 2.4). */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
const SERVICE_NETWORKS = CLOUD_SERVICES.flatMap(({ networks }) =>
  networks.map((network) => ipaddr.parseCIDR(network)),
);
const SERVICE_NAMES: ReadonlySet<string> = new Set(
  CLOUD_SERVICES.flatMap(({ names = [] }) => names),
);

/**
 * Returns true for addresses of the public internet. It is false for every address with a special
 * meaning: private, loopback, link-local, multicast, documentation, cloud services for their own
 * machines, and IPv6 addresses that contain an IPv4 address, except mapped public ones.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // `process` turns ::ffff:a.b.c.d into a.b.c.d.
  const ip = ipaddr.process(address);
  // All addresses assigned so far; this excludes the old form ::a.b.c.d of IPv4 addresses.
  const assigned = ip.kind() === 'ipv4' || ip.match(GLOBAL_UNICAST);
  if (!assigned || ip.range() !== 'unicast' || isIsatap(ip)) return false;
  return !SERVICE_NETWORKS.some(
    ([network, bits]) => network.kind() === ip.kind() && ip.match(network, bits),
  );
}

/** Returns true for names under which clouds offer services to their own machines. */
export function isCloudServiceName(hostname: string): boolean {
  return SERVICE_NAMES.has(hostname.toLowerCase().replace(/\.$/, ''));
}

/** Returns true for ISATAP (RFC 5214 6.1): any prefix, with an IPv4 address in the last 32 bits. */
function isIsatap(ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (!(ip instanceof ipaddr.IPv6)) return false;
  const [, , , , high = 0, low = 0] = ip.parts;
  return (high & ~0x0200) === 0 && low === 0x5efe;
}

/** The kinds of networks that an address can be in, as seen from a machine. */
export type Network = 'public' | 'private' | 'loopback';

/**
 * Returns the network of an address; special addresses, and text that is not an address, count as
 * private.
 */
export function networkOf(address: string): Network {
  if (isPublicAddress(address)) return 'public';
  if (!ipaddr.isValid(address)) return 'private';
  const range = ipaddr.process(address).range();
  // Connections to 0.0.0.0 and :: reach the machine itself.
  return range === 'loopback' || range === 'unspecified' ? 'loopback' : 'private';
}

/** Returns the IP literal in a URL's hostname, without brackets; undefined for names. */
export function ipLiteral(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
}
