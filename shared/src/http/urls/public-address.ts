/**
 * Decides which addresses belong to the public internet: the one rule for the addresses that edges
 * connect to, and for the requests that they get.
 */

import ipaddr from 'ipaddr.js';
import { CLOUD_SERVICES } from './cloud-services.ts';

/** RFC 4291 2.4, as IANA hands it out. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
const SERVICE_NETWORKS = CLOUD_SERVICES.flatMap(({ networks }) =>
  networks.map((network) => ipaddr.parseCIDR(network)),
);
const SERVICE_NAMES: ReadonlySet<string> = new Set(
  CLOUD_SERVICES.flatMap(({ names = [] }) => names),
);

/**
 * True for addresses of the public internet. Every address with a special meaning is refused:
 * private, loopback, link-local, multicast, documentation, cloud services for their own machines,
 * and the forms that carry an IPv4 address inside an IPv6 one, except mapped ones that are public.
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

/** True for names under which clouds offer services to their own machines. */
export function isCloudServiceName(hostname: string): boolean {
  return SERVICE_NAMES.has(hostname.toLowerCase().replace(/\.$/, ''));
}

/** ISATAP (RFC 5214 6.1): below any prefix, the last 32 bits are an IPv4 address of the site. */
function isIsatap(ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (!(ip instanceof ipaddr.IPv6)) return false;
  const [, , , , high = 0, low = 0] = ip.parts;
  return (high & ~0x0200) === 0 && low === 0x5efe;
}

/** Networks that an address can be in, as seen from a machine. */
export type Network = 'public' | 'private' | 'loopback';

/**
 * The network of an address; special addresses, and texts that are no address, count as private.
 */
export function networkOf(address: string): Network {
  if (isPublicAddress(address)) return 'public';
  if (!ipaddr.isValid(address)) return 'private';
  const range = ipaddr.process(address).range();
  // 0.0.0.0 and :: lead to the machine itself.
  return range === 'loopback' || range === 'unspecified' ? 'loopback' : 'private';
}

/** The IP literal in a URL's hostname without brackets, or undefined for names. */
export function ipLiteral(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
}
