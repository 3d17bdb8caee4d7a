/** The addresses to show to people for an edge that listens on all addresses of its machine. */

import type { NetworkInterfaceInfo } from 'node:os';
import ipaddr from 'ipaddr.js';
import { nodeUrl } from '../config/seeds.ts';

/** Most addresses that are shown: machines with containers have many. */
const MAX_SHOWN = 8;

type Interfaces = NodeJS.Dict<Pick<NetworkInterfaceInfo, 'address' | 'internal'>[]>;

/**
 * Returns the URLs by which other machines may reach the edge, IPv4 first; none if the edge listens
 * on one address only.
 *
 * @param host the address that was listened on; `0.0.0.0` and `::` mean all
 * @param urls of the edge on this machine
 */
export function otherUrls(host: string, urls: readonly string[], interfaces: Interfaces): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [];
  const found = Object.values(interfaces).flatMap((list) => list ?? []);
  const addresses = found
    .filter(({ internal }) => !internal)
    .map(({ address }) => ipaddr.process(address.replace(/%.*$/, '')))
    // Link-local addresses need the name of an interface of the other machine.
    .filter((address) => address.range() !== 'linkLocal')
    .filter((address) => host === '::' || address.kind() === 'ipv4');
  const sorted = addresses.toSorted((a, b) => a.kind().localeCompare(b.kind()));
  const shown = [...new Set(sorted.map(String))].slice(0, MAX_SHOWN);
  return shown.flatMap((address) =>
    urls.map((url) => nodeUrl(address, portOf(url), new URL(url).protocol.slice(0, -1))),
  );
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
