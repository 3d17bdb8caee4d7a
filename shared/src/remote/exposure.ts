/**
 * Decides under which conditions a daemon serves other machines: never without encryption on the
 * way, never without an account, and only under the names that its user has stated.
 */

import { MillraceError } from '../base/errors.ts';

/** Most names that a daemon may have. */
const MAX_HOSTS = 32;

/** Options of a daemon that serves other machines, as they were given. */
export interface ExposureOptions {
  /** Address to listen on for other machines. */
  readonly host: string | undefined;
  /** Address that users type, such as `https://nas.example`. */
  readonly publicUrl: string | undefined;
  /** Further names of the daemon, with a port unless it is 443. */
  readonly allowedHosts: readonly string[];
  /** Files of the certificate and its key, both or neither. */
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  /** Networks of the reverse proxies that end TLS before the daemon. */
  readonly proxies: readonly string[];
}

/** The conditions under which a daemon serves other machines. */
export interface Exposure {
  readonly host: string;
  /** Origin of the page, such as `https://nas.example`. */
  readonly origin: string;
  /** Values of Host that name this daemon, in lower case, without the default port. */
  readonly hosts: readonly string[];
  /** Files for TLS; undefined behind a reverse proxy. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly proxies: readonly string[];
}

/**
 * Checks the options.
 *
 * @returns undefined if the daemon serves only its own machine
 * @throws MillraceError `bad-option` that says what is missing
 */
export function exposureOf(given: ExposureOptions): Exposure | undefined {
  const { host, publicUrl, allowedHosts, tlsCert, tlsKey, proxies } = given;
  if (host === undefined) {
    const alone = Object.entries({
      '--public-url': publicUrl,
      '--allow-host': allowedHosts[0],
      '--tls-cert': tlsCert,
      '--tls-key': tlsKey,
      '--behind-proxy': proxies[0],
    }).find(([, value]) => value !== undefined);
    if (alone === undefined) return undefined;
    throw refused(`${alone[0]} needs --host, the address to listen on for other machines`);
  }
  if (publicUrl === undefined) {
    throw refused('--host needs --public-url, the address that users type');
  }
  const origin = originOf(publicUrl);
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw refused('--tls-cert and --tls-key are needed together');
  }
  if (tlsCert === undefined && proxies.length === 0) {
    throw refused(
      '--host needs encryption: --tls-cert and --tls-key, or --behind-proxy with the address of a reverse proxy that has a certificate',
    );
  }
  if (tlsCert !== undefined && proxies.length > 0) {
    throw refused('either --tls-cert or --behind-proxy: only one of them ends TLS');
  }
  if (allowedHosts.length >= MAX_HOSTS) throw refused('--allow-host: too many names');
  const tls = tlsCert === undefined ? undefined : { cert: tlsCert, key: tlsKey as string };
  const hosts = [...new Set([new URL(origin).host, ...allowedHosts.map(authorityOf)])];
  return { host, origin, hosts, tls, proxies };
}

/** Returns true if a Host field names one of the hosts. The port of https may be written out. */
export function namesHost(field: string | undefined, hosts: readonly string[]): boolean {
  const host = authority(field ?? '');
  return host !== undefined && hosts.includes(host);
}

/** Returns true if an Origin field is that of the page at one of the hosts. */
export function isOriginOf(field: string, hosts: readonly string[]): boolean {
  return field.startsWith('https://') && namesHost(field.slice('https://'.length), hosts);
}

function originOf(text: string): string {
  const url = urlOf(text);
  const plain =
    url !== undefined &&
    url.protocol === 'https:' &&
    url.pathname === '/' &&
    url.search + url.hash + url.username + url.password === '';
  if (plain) return url.origin;
  throw refused(`--public-url: "${text}" is not an address such as https://nas.example`);
}

function authorityOf(text: string): string {
  const host = authority(text);
  if (host !== undefined) return host;
  throw refused(`--allow-host: "${text}" is not a name such as nas.local or nas.local:8443`);
}

/** Reads a host with or without a port. @returns lower case, without the port of https */
function authority(text: string): string | undefined {
  if (!/^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.test(text)) return undefined;
  return urlOf(`https://${text}`)?.host;
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function refused(detail: string): MillraceError {
  return new MillraceError('bad-option', detail);
}
