/**
 * Decides which servers learn a user's cookies, credentials, header fields and referrer. All rules
 * are in this module, so that no redirect, mirror or edge learns more than it may.
 */

/** Relation of a request to the user's own URL. */
export type Scope =
  /** A request to the origin (RFC 6454) that the user named. */
  | 'own'
  /** A request that the user's origin has redirected elsewhere. */
  | 'redirected'
  /** A request to a mirror, or one that a mirror has redirected. */
  | 'mirror'
  /** A request to an edge, or one that an edge has redirected. */
  | 'edge';

/** The beginning of a chain of redirects. */
export interface Chain {
  /** `edge` if the request goes through an edge. */
  readonly role: 'origin' | 'edge';
  /** URL of the chain's first request. */
  readonly start: URL;
}

/**
 * Finds the scope of a request.
 *
 * @param url next URL to request
 * @param first the URL for which the user gave the cookies, credentials and fields
 */
export function scopeOf(url: URL, chain: Chain, first: URL): Scope {
  if (chain.role === 'edge') return 'edge';
  if (chain.start.origin !== first.origin) return 'mirror';
  return url.origin === first.origin ? 'own' : 'redirected';
}

/**
 * Returns true if a log-in for `origin` may be sent: only to that origin, and only in a chain that
 * began there. https:// after http:// at the same host is another origin as well (RFC 9110 15.4).
 */
export function mayLogIn(url: URL, chain: Chain, origin: string): boolean {
  return chain.role === 'origin' && chain.start.origin === origin && url.origin === origin;
}

/** Returns true if cookies may be sent and stored, within the limits of their domain and path. */
export function mayHaveCookies(scope: Scope): boolean {
  return scope === 'own' || scope === 'redirected';
}

/**
 * Cuts the referrer to the part that a server may learn about the page with the link, as by the
 * referrer policy strict-origin-when-cross-origin, with the user's origin as the same origin.
 *
 * @param referrer without user name, password and fragment
 */
export function referrerIn(scope: Scope, url: URL, referrer: URL): string | undefined {
  if (referrer.protocol === 'https:' && url.protocol !== 'https:') return undefined;
  if (scope === 'own') return referrer.href;
  return scope === 'redirected' ? `${referrer.origin}/` : undefined;
}
