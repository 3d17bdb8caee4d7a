/**
 * Addresses of this machine itself, public ones too. Services there may be meant for the machine
 * alone: its connections to itself pass no firewall. The addresses change while the edge runs.
 */

import { lookup } from 'node:dns/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { Millis } from '@millrace/shared/base/clock';
import { ipLiteral } from '@millrace/shared/http/urls/public-address';
import ipaddr from 'ipaddr.js';

export interface OwnAddressesOptions {
  /** URL at which clients reach this edge: behind address translation it has another address. */
  readonly publicUrl: string | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** For tests: the answers of the kernel and of the name server. */
  readonly interfaces?: () => NodeJS.Dict<Pick<NetworkInterfaceInfo, 'address'>[]>;
  readonly resolve?: (name: string) => Promise<readonly { readonly address: string }[]>;
}

/** Time after which the kernel is asked again. */
const INTERFACES_MS: Millis = 5000;
/** Time after which the name server is asked again. */
const NAME_MS: Millis = 60_000;

export class OwnAddresses {
  readonly #options: OwnAddressesOptions;
  /** The host of the public URL, if that is a name. */
  readonly #name: string | undefined;
  #ofInterfaces: ReadonlySet<string> = new Set();
  #ofName: ReadonlySet<string> = new Set();
  #interfacesAt = Number.NEGATIVE_INFINITY;
  #nameAt = Number.NEGATIVE_INFINITY;

  constructor(options: OwnAddressesOptions) {
    this.#options = options;
    const { publicUrl } = options;
    if (publicUrl === undefined) return;
    const { hostname } = new URL(publicUrl);
    const literal = ipLiteral(hostname);
    if (literal === undefined) this.#name = withoutDot(hostname);
    else this.#ofName = new Set([canonical(literal)]);
  }

  /** Returns true for an address of this machine, as far as it is known now. */
  has(address: string): boolean {
    this.#refresh();
    const wanted = canonical(address);
    return this.#ofInterfaces.has(wanted) || this.#ofName.has(wanted);
  }

  /** Returns true for the name of this machine in its public URL. */
  hasName(hostname: string): boolean {
    return this.#name !== undefined && withoutDot(hostname) === this.#name;
  }

  /**
   * Looks the public URL's name up again if that is due. Its addresses are unknown until the first
   * lookup has ended; if a lookup fails, the earlier ones stay. Never rejects.
   */
  async refreshName(): Promise<void> {
    const { now, resolve = lookupAll } = this.#options;
    if (this.#name === undefined || now() - this.#nameAt < NAME_MS) return;
    this.#nameAt = now();
    try {
      this.#ofName = new Set((await resolve(this.#name)).map(({ address }) => canonical(address)));
    } catch {
      // The name may exist later.
    }
  }

  #refresh(): void {
    const { now, interfaces = networkInterfaces } = this.#options;
    void this.refreshName();
    if (now() - this.#interfacesAt < INTERFACES_MS) return;
    this.#interfacesAt = now();
    const all = Object.values(interfaces()).flatMap((found) => found ?? []);
    this.#ofInterfaces = new Set(all.map(({ address }) => canonical(address)));
  }
}

function lookupAll(name: string) {
  return lookup(name, { all: true });
}

function withoutDot(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

/** Returns the canonical form of an address: without a zone, and an IPv4 address as such. */
function canonical(address: string): string {
  const [bare = ''] = address.split('%');
  return ipaddr.isValid(bare) ? ipaddr.process(bare).toString() : bare;
}
