/**
 * Finds the other nodes that a node begins with: addresses and names from --peers. A name stands
 * for all of its address records, which are read repeatedly, so that a network of edges needs no
 * other discovery than plain DNS or a headless service.
 */

import { lookup } from 'node:dns/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import ipaddr from 'ipaddr.js';

const DEFAULT_PORT = 3125;
/** Most addresses taken from one name. */
const MAX_RECORDS = 500;

export interface Seed {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
}

/**
 * Reads an entry of --peers: `host`, `host:port` or `http://host:port`.
 *
 * @throws MillraceError `bad-option`
 */
export function parseSeed(text: string): Seed {
  try {
    const address = text.includes('://') ? text.trim() : `http://${text.trim()}`;
    const url = new URL(address);
    const scheme = url.protocol.slice(0, -1);
    // A parsed URL does not show whether its scheme's default port was given. Parsed with the other
    // scheme, it does.
    const other = new URL(address.replace(/^[^:]*/, scheme === 'http' ? 'https' : 'http'));
    const fallback = scheme === 'https' ? 443 : DEFAULT_PORT;
    const port = Number(url.port || other.port || fallback);
    if (/^https?$/.test(scheme) && url.href === `${url.origin}/` && port > 0) {
      return { scheme, host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
    }
  } catch {
    // Reported below.
  }
  throw new MillraceError('bad-option', `"${text}" is not an edge such as 10.0.0.1:3125`);
}

/** Addresses of nodes that the seeds resolve to now. */
export async function resolveSeeds(seeds: readonly Seed[], log: Log): Promise<string[]> {
  const urls = new Set<string>();
  for (const { scheme, host, port } of seeds) {
    // A certificate is for the name, not for its addresses.
    const hosts = scheme === 'https' ? [host] : await addressesOf(host, log);
    for (const address of hosts) {
      urls.add(nodeUrl(address, port, scheme));
    }
  }
  return [...urls];
}

/** Returns the URL of a node at an IP address. */
export function nodeUrl(address: string, port: number, scheme = 'http'): string {
  const bare = ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
  return `${scheme}://${bare.includes(':') ? `[${bare}]` : bare}:${port}`;
}

async function addressesOf(host: string, log: Log): Promise<string[]> {
  if (ipaddr.isValid(host)) return [host];
  try {
    const records = await lookup(host, { all: true });
    return records.slice(0, MAX_RECORDS).map((record) => record.address);
  } catch (error) {
    // The name may exist later, as names of services that are starting do.
    log.debug({ err: error, host }, 'a name of peers cannot be looked up');
    return [];
  }
}
