/**
 * Keeps URLs named by strangers out of the user's own network: mirrors, edges named by others, URLs
 * from lists, and redirects lead to public addresses only, unless the download itself is in the
 * user's network. Connections go to the very addresses that were checked: a name that resolves
 * differently the next time (DNS rebinding) gains nothing.
 */

import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import { isPublicAddress } from '@millrace/shared/http/urls/public-address';
import { isPublicHost } from '@millrace/shared/http/urls/public-host';

export interface NamedHosts {
  /** The download itself; undefined if the user chose none of its URLs. */
  readonly download: URL | undefined;
  /** Further URLs that the user named: mirrors and edges. */
  readonly others: readonly URL[];
}

type Resolve = typeof dnsLookup;

export class OwnNetwork {
  readonly #download: string | undefined;
  /** Hosts that the user named, and whether they were public when they were first looked up. */
  readonly #named = new Map<string, 'unknown' | 'public' | 'own'>();
  readonly #resolve: Resolve;
  /** True if the download itself is in the user's network. */
  #isHome = false;

  constructor({ download, others }: NamedHosts, resolve: Resolve = dnsLookup) {
    this.#download = download?.hostname;
    this.#resolve = resolve;
    for (const url of others) this.name(url);
    if (download === undefined) return;
    this.name(download);
    this.#isHome = !isPublicHost(download.hostname);
  }

  /** Notes that the user named a URL: its host may be anywhere. */
  name({ hostname }: URL): void {
    if (!this.#named.has(hostname)) this.#named.set(hostname, 'unknown');
  }

  /**
   * True if the download leads into the user's network, according to its name, and after the first
   * connection also to its address.
   */
  get isHome(): boolean {
    return this.#isHome || this.#named.get(this.#download ?? '') === 'own';
  }

  /** Returns true if all addresses of a host are in the user's network; false if it has none. */
  leadsHome(hostname: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#resolve(hostname, { all: true }, (error, found: LookupAddress[]) => {
        const known = error === null && found.length > 0;
        resolve(known && found.every(({ address }) => !isPublicAddress(address)));
      });
    });
  }

  /**
   * Checks a URL before each request: names are checked again when the connection is made, but
   * addresses, and names that a proxy would look up, are not.
   *
   * @throws MillraceError `source-refused`
   */
  check({ hostname }: URL): void {
    if (this.#isHome || this.#named.has(hostname) || isPublicHost(hostname)) return;
    throw refused(hostname);
  }

  /**
   * Look-up function for sockets: yields the addresses that a host may be connected to, and fails
   * if there are none.
   */
  readonly lookup: LookupFunction = (hostname: string, options: LookupOptions, callback) => {
    this.#resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return callback(error, '', 0);
      const open = this.#allowed(hostname, found);
      const first = open[0];
      if (first === undefined) return callback(refused(hostname), '', 0);
      if (options.all === true) callback(null, open);
      else callback(null, first.address, first.family);
    });
  };

  #allowed(hostname: string, found: readonly LookupAddress[]): LookupAddress[] {
    const open = found.filter(({ address }) => isPublicAddress(address));
    const before = this.#named.get(hostname);
    if (before === undefined) return this.#isHome ? [...found] : open;
    if (before === 'unknown' && found.length > 0) {
      const own = open.length < found.length;
      this.#named.set(hostname, own ? 'own' : 'public');
      // If only some of the host's addresses are private, its redirects may come from outside.
      if (open.length === 0 && hostname === this.#download) this.#isHome = true;
    }
    // A host that was public and now leads into the user's network has been redirected by its
    // owner.
    return before === 'public' && !this.#isHome ? open : [...found];
  }
}

function refused(hostname: string): MillraceError {
  return new MillraceError('source-refused', {
    code: 'in-own-network',
    values: { host: hostname },
  });
}
