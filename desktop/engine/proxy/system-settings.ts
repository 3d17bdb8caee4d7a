/** Settings of proxies, in one form for all systems. */

/** Where the settings are kept; `environment`: variables such as `http_proxy`. */
export type SettingsSource = 'environment' | 'gnome' | 'kde' | 'windows' | 'macos';

export interface SystemSettings {
  /**
   * How requests travel: without a proxy, through `servers`, as the script at `script` says, or
   * through whatever the network announces (WPAD), which Millrace does not ask for.
   */
  readonly way: 'direct' | 'servers' | 'script' | 'discovery';
  /** URLs of proxies, for http:, https:, and for both if there is none of their own. */
  readonly servers?: {
    readonly http?: string | undefined;
    readonly https?: string | undefined;
    readonly all?: string | undefined;
  };
  /** URL of a proxy auto-configuration script (PAC). */
  readonly script?: string;
  /** Hosts to fetch directly, as in `no_proxy`. */
  readonly exempt?: string;
  /** True if only the hosts of `exempt` are fetched through the proxy (KDE). */
  readonly isReversed?: boolean;
}

/** Settings without any proxy. */
export const NO_PROXY: SystemSettings = { way: 'direct' };

/** Log-in at a proxy, not encoded. */
export interface ProxyLogin {
  readonly user: string;
  readonly password: string;
}

/**
 * Makes the URL of a proxy of a host and a port.
 *
 * @param host name or address, perhaps with a scheme and a port of its own, as people type it
 * @param port 0 or undefined if unknown: the scheme's own
 * @returns undefined if there is no host
 */
export function proxyUrl(
  scheme: 'http' | 'socks5',
  host: string,
  port?: number,
  login?: ProxyLogin,
): string | undefined {
  const trimmed = host.trim().replace(/\/+$/, '');
  if (trimmed === '') return undefined;
  const [, ownScheme = scheme, rest = ''] = /^(?:([a-z0-9]+):\/\/)?(.*)$/is.exec(trimmed) ?? [];
  const bare = rest.includes(':') && /^[0-9a-f:.]+$/i.test(rest) && !/^[^:]*:\d+$/.test(rest);
  const name = bare ? `[${rest}]` : rest;
  const hasPort = /:\d+$/.test(name) && !name.endsWith(']');
  const suffix = hasPort || port === undefined || port === 0 ? '' : `:${port}`;
  const user =
    login === undefined
      ? ''
      : `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
  return `${ownScheme.toLowerCase()}://${user}${name}${suffix}`;
}
