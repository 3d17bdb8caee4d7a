/**
 * Decides which server learns a user's cookies, credentials, header fields and referrer. All rules
 * are here, so that no redirect, mirror or edge learns more than it may.
 */

/** Relation of a request to the user's own URL. */
export type Scope =
  /** Goes to the origin (RFC 6454) that the user named. */
  | 'own'
  /** Goes where that origin has sent it. */
  | 'redirected'
  /** Goes to another replica of the file, or where that one has sent it. */
  | 'mirror'
  /** Goes to an edge, or where that one has sent it. */
  | 'edge';

/** Where a chain of redirects began. */
export interface Chain {
  /** `edge` where the request goes through an edge. */
  readonly role: 'origin' | 'edge';
  /** URL of the chain's first request. */
  readonly start: URL;
}

/**
 * @param url next URL to request
 * @param first the URL that the user gave the cookies, credentials and fields for
 */
export function scopeOf(url: URL, chain: Chain, first: URL): Scope {
  if (chain.role === 'edge') return 'edge';
  if (chain.start.origin !== first.origin) return 'mirror';
  return url.origin === first.origin ? 'own' : 'redirected';
}

/**
 * Whether a log-in for `origin` is sent: there only, and only in a chain that began there. A
 * redirect from http:// to https:// of the same host is another origin as well (RFC 9110 15.4).
 */
export function mayLogIn(url: URL, chain: Chain, origin: string): boolean {
  return chain.role === 'origin' && chain.start.origin === origin && url.origin === origin;
}

/** Whether cookies may be sent and taken; which of them is then a matter of domain and path. */
export function mayHaveCookies(scope: Scope): boolean {
  return scope === 'own' || scope === 'redirected';
}

/**
 * Cuts the referrer to the part that a server may learn about the page with the link (Referrer
 * Policy: strict-origin-when-cross-origin, seen from the origin that the user named).
 *
 * @param referrer without user name, password and fragment
 */
export function referrerIn(scope: Scope, url: URL, referrer: URL): string | undefined {
  if (referrer.protocol === 'https:' && url.protocol !== 'https:') return undefined;
  if (scope === 'own') return referrer.href;
  return scope === 'redirected' ? `${referrer.origin}/` : undefined;
}
