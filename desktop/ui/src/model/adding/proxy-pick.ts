/** A choice of proxy in a form. */

/** default: nothing is said. system, direct: the system's, none. own: the one at `url`. */
type ProxyKind = 'default' | 'system' | 'direct' | 'own';

export interface ProxyPick {
  readonly kind: ProxyKind;
  /** As typed; counts for `own`. */
  readonly url: string;
}

export const DEFAULT_PROXY: ProxyPick = { kind: 'default', url: '' };

const PROXY = /^(?:https?|socks5h?|socks4a?|socks):\/\/[^\s/]+\/?$/i;

/** Returns true if the choice needs an address that is missing or wrong. */
export function isBadProxy({ kind, url }: ProxyPick): boolean {
  return kind === 'own' && !PROXY.test(url.trim());
}

/** Returns the choice as the daemon takes it; undefined for `default`. */
export function proxyOf({ kind, url }: ProxyPick): string | undefined {
  return kind === 'default' ? undefined : kind === 'own' ? url.trim() : kind;
}
