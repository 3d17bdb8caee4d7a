/**
 * Finds the client of a request, for the limits per client. Behind a reverse proxy all requests
 * come from its address; its X-Forwarded-For or Forwarded (RFC 7239) is trusted only as far back as
 * the proxies are known: the client itself may have written everything before that.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { type Headers, listField, splitList } from '@millrace/shared/http/fields/headers';
import ipaddr from 'ipaddr.js';
import { clientKey } from './client-key.ts';

type Network = ReturnType<typeof ipaddr.parseCIDR>;

/** The field that the proxies write. Only one is read, because a client could add the other one. */
export type ProxyField = 'x-forwarded-for' | 'forwarded';

/** Most addresses that are read, from the end of the field. */
const MAX_PROXIES = 16;

/**
 * Reads an address or a network in CIDR notation.
 *
 * @throws MillraceError `bad-option`
 */
export function parseNetwork(text: string): Network {
  const bare = text.trim();
  try {
    if (bare.includes('/')) return ipaddr.parseCIDR(bare);
    const address = ipaddr.process(bare);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw new MillraceError('bad-option', `"${text}" is not a network such as 10.0.0.0/8`);
  }
}

export class ClientAddress {
  readonly #trusted: readonly Network[];
  readonly #field: ProxyField;

  /** @param trusted networks of the reverse proxies before this edge */
  constructor(trusted: readonly Network[], field: ProxyField) {
    this.#trusted = trusted;
    this.#field = field;
  }

  /**
   * Returns the client's address.
   *
   * @param remote address at the other end of the connection
   */
  of(remote: string | undefined, headers: Headers): string {
    let client = remote ?? '';
    if (!this.isProxy(client)) return client;
    const named = splitList(listField(headers, this.#field) ?? '').slice(-MAX_PROXIES);
    for (const item of named.reverse()) {
      const address = readAddress(this.#field === 'forwarded' ? forParameter(item) : item);
      // A client that a proxy itself cannot name stays unknown.
      if (address === undefined) return client;
      client = address;
      if (!this.isProxy(client)) return client;
    }
    return client;
  }

  /**
   * Makes the key that the client counts under: its own address if it is a trusted proxy, else
   * `clientKey` of it.
   *
   * @param address result of `of`
   */
  keyOf(address: string): string {
    return this.isProxy(address) ? address : clientKey(address);
  }

  /** Returns true if this is the address of a trusted proxy. */
  isProxy(address: string): boolean {
    if (this.#trusted.length === 0 || !ipaddr.isValid(address)) return false;
    const ip = ipaddr.process(address);
    return this.#trusted.some(
      ([network, bits]) => network.kind() === ip.kind() && ip.match(network, bits),
    );
  }
}

/** Returns the `for` of one element of Forwarded. */
function forParameter(element: string): string {
  const value = /(?:^|;)\s*for=(?:"([^"]*)"|([^;\s]*))/i.exec(element);
  return value?.[1] ?? value?.[2] ?? '';
}

/** Reads an address with or without brackets and port. */
function readAddress(text: string): string | undefined {
  const bare = text.trim();
  const [, inBrackets, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/.exec(bare) ?? [];
  const address = inBrackets ?? v4 ?? bare;
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : undefined;
}
