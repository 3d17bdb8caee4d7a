/**
 * Chooses the proxy for a URL: the download's own, otherwise the environment's, following the
 * conventions of curl, otherwise the system's. Pure.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { isLoopback, type NoProxy, parseNoProxy } from './no-proxy.ts';
import type { SystemSettings } from './system-settings.ts';

type ProxyScheme = 'http' | 'https' | 'socks4' | 'socks4a' | 'socks5';

export interface ProxyServer {
  readonly scheme: ProxyScheme;
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Decoded; as secret as the password. */
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Longest URL of a proxy, in characters. */
const MAX_PROXY_CHARS = 2048;
/** Longest user name or password for SOCKS, in bytes: its length takes one byte (RFC 1929). */
const MAX_SOCKS_CREDENTIAL_BYTES = 255;

const SCHEMES: Readonly<Record<string, ProxyScheme>> = {
  'http:': 'http',
  'https:': 'https',
  'socks4:': 'socks4',
  'socks4a:': 'socks4a',
  // With either scheme the proxy looks names up: a look-up here would reveal the destination.
  'socks5:': 'socks5',
  'socks5h:': 'socks5',
  'socks:': 'socks5',
};
const DEFAULT_PORTS: Readonly<Record<ProxyScheme, number>> = {
  http: 80,
  https: 443,
  socks4: 1080,
  socks4a: 1080,
  socks5: 1080,
};

/**
 * Parses the URL of a proxy; without a scheme it is an HTTP proxy.
 *
 * @param what name of the option for the error, which never shows the URL: it may contain a
 *   password
 * @throws MillraceError `bad-option`
 */
export function parseProxy(text: string, what = 'the proxy'): ProxyServer {
  const fail = (why: string) => new MillraceError('bad-option', `${what}: ${why}`);
  if (text.length > MAX_PROXY_CHARS) throw fail('it is too long');
  const url = urlOf(text.trim());
  const scheme = url === undefined ? undefined : SCHEMES[url.protocol];
  if (url === undefined || scheme === undefined || url.hostname === '') {
    throw fail('it is given as http://, https:// or socks5://, host and port');
  }
  if ((url.pathname !== '' && url.pathname !== '/') || url.search !== '' || url.hash !== '') {
    throw fail('nothing can follow the port');
  }
  const [user, password] = [url.username, url.password].map((part) => {
    try {
      return part === '' ? undefined : decodeURIComponent(part);
    } catch {
      throw fail('its user name or password is not well percent-encoded');
    }
  });
  for (const part of scheme.startsWith('socks') ? [user, password] : []) {
    if (Buffer.byteLength(part ?? '') > MAX_SOCKS_CREDENTIAL_BYTES || part?.includes('\0')) {
      throw fail('its user name or password cannot be sent to a SOCKS proxy');
    }
  }
  return {
    scheme,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? DEFAULT_PORTS[scheme] : Number(url.port),
    user,
    password,
  };
}

/** Returns the URL of a proxy for display, without user name and password. */
export function formatProxy(proxy: ProxyServer): string {
  const { scheme, host, port } = proxy;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Proxies for each scheme, and the hosts that need none. */
interface Servers {
  readonly http: ProxyServer | undefined;
  readonly https: ProxyServer | undefined;
  readonly exempt: NoProxy;
  /** True if only the exempt hosts are fetched through the proxy. */
  readonly isReversed?: boolean;
}

/**
 * Returns a function that chooses the proxy for each URL.
 *
 * @param proxy a proxy's URL, `direct` for no proxy, `system` or undefined for the environment's
 * @param env `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; lower case takes precedence.
 *   Hosts in `no_proxy` are fetched directly even if `proxy` is a URL, and so is this machine
 *   itself, unless `no_proxy` has `<-loopback>`, as in browsers.
 * @throws MillraceError `bad-option`
 */
export function proxyChoice(
  proxy: string | undefined,
  env: Environment,
): (url: URL) => ProxyServer | undefined {
  if (proxy === 'direct') return () => undefined;
  const own = isBySystem(proxy) ? undefined : parseProxy(proxy as string);
  return choiceAmong({
    http: own ?? environmentProxy(env, 'http_proxy'),
    https: own ?? environmentProxy(env, 'https_proxy'),
    exempt: environmentExempt(env),
  });
}

/** Returns true if the user names no proxy, so that environment and system decide. */
export function isBySystem(proxy: string | undefined): boolean {
  return proxy === undefined || proxy === 'system';
}

/** Returns true if the environment names a proxy; it then has precedence over the system. */
export function hasEnvironmentProxy(env: Environment): boolean {
  return environmentServers(env).length > 0;
}

/** Returns the proxies that the environment names, as they are written there. */
export function environmentServers(env: Environment): string[] {
  const found = ['http_proxy', 'https_proxy', 'all_proxy'].map(
    (name) => variable(env, name)?.value,
  );
  return [...new Set(found.filter((value) => value !== undefined))];
}

/**
 * Returns a function that chooses among the servers of the system's settings. Hosts that the
 * environment exempts are exempt too.
 *
 * @throws MillraceError `bad-option` for servers that cannot be used
 */
export function systemChoice(
  settings: SystemSettings,
  env: Environment,
): (url: URL) => ProxyServer | undefined {
  const [http, https] = systemServers(settings);
  const { exempt = '', isReversed = false } = settings;
  if (isReversed) return choiceAmong({ http, https, exempt: parseNoProxy(exempt), isReversed });
  return choiceAmong({ http, https, exempt: parseNoProxy(`${exempt},${exemptIn(env)}`) });
}

/** Returns the system's servers for http: and https:. @throws MillraceError `bad-option` */
export function systemServers({
  servers = {},
}: SystemSettings): readonly [ProxyServer | undefined, ProxyServer | undefined] {
  const what = 'the proxy in the system’s settings';
  const [http, https] = [servers.http, servers.https].map((own) => {
    const text = own ?? servers.all;
    return text === undefined ? undefined : parseProxy(text, what);
  });
  return [http, https];
}

function choiceAmong({ http, https, exempt, isReversed = false }: Servers) {
  return (url: URL): ProxyServer | undefined => {
    const chosen = url.protocol === 'https:' ? https : http;
    if (chosen === undefined) return undefined;
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    if (isLoopback(host) && !exempt.loopbackProxied) return undefined;
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    return exempt.matches(host, port) === isReversed ? chosen : undefined;
  };
}

function environmentProxy(env: Environment, name: string): ProxyServer | undefined {
  const found = variable(env, name) ?? variable(env, 'all_proxy');
  return found === undefined ? undefined : parseProxy(found.value, found.name);
}

/** Returns the hosts that the environment exempts from proxies, whoever names those. */
export function environmentExempt(env: Environment): NoProxy {
  return parseNoProxy(exemptIn(env));
}

function exemptIn(env: Environment): string {
  return variable(env, 'no_proxy')?.value ?? '';
}

/** Returns a variable that is set and not empty; lower case takes precedence. */
function variable(env: Environment, name: string): { name: string; value: string } | undefined {
  for (const each of [name, name.toUpperCase()]) {
    // In a CGI program, the sender of the request sets this variable with the field "Proxy".
    if (each === 'HTTP_PROXY' && env.REQUEST_METHOD !== undefined) continue;
    const value = env[each]?.trim();
    if (value !== undefined && value !== '') return { name: each, value };
  }
  return undefined;
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text.includes('://') ? text : `http://${text}`);
  } catch {
    return undefined;
  }
}
