/**
 * Whether bytes of a file that the user requested by https: may come over a connection that others
 * can change. Entity tags and samples prove nothing there: an attacker on the way gives the right
 * ones and changes the rest. Only a digest of the whole file proves it.
 */

/** Where a source has its address from. */
export type NamedBy =
  /** It is the user's own URL. */
  | 'origin'
  /** An edge that the user has set up or named. */
  | 'own-edge'
  /** A mirror, from any origin, or an edge that another edge has named. */
  | 'other';

export interface PlainSource {
  /** The user's own URL of the file. */
  readonly download: URL;
  readonly namedBy: NamedBy;
  /** URL that the source is asked for, before any redirect. */
  readonly start: URL;
  /** A digest of the whole file is known from a source that could not be tampered with. */
  readonly digestKnown: boolean;
}

/**
 * True if a request may be sent; checked again at each redirect.
 *
 * @param target URL to ask
 */
export function mayAskPlainly(target: URL, source: PlainSource): boolean {
  const { download, namedBy, start, digestKnown } = source;
  if (target.protocol === 'https:' || download.protocol !== 'https:' || digestKnown) return true;
  // Where the user's own server sends him is for it to say.
  if (namedBy === 'origin') return true;
  // An edge without TLS that the user has chosen is as good as its network, wherever it redirects.
  return namedBy === 'own-edge' && start.protocol === 'http:';
}
