/**
 * Decides whether bytes of a file that the user requested by https: may come over a connection
 * that an attacker can alter. Entity tags and samples prove nothing there: an attacker on the way
 * gives the right ones and changes the rest. Only a digest of the whole file proves the bytes.
 */

/** Where the address of a source comes from. */
export type NamedBy =
  /** The user's own URL. */
  | 'origin'
  /** An edge that the user has set up or named. */
  | 'own-edge'
  /** A mirror that anybody has named, or an edge that another edge has named. */
  | 'other';

export interface PlainSource {
  /** The user's own URL of the file. */
  readonly download: URL;
  readonly namedBy: NamedBy;
  /** First URL that the source is asked for, before any redirect. */
  readonly start: URL;
  /** A digest of the whole file is known from a source that could not be tampered with. */
  readonly digestKnown: boolean;
}

/**
 * Returns true if a request may be sent; the caller checks again at each redirect.
 *
 * @param target URL to ask
 */
export function mayAskPlainly(target: URL, source: PlainSource): boolean {
  const { download, namedBy, start, digestKnown } = source;
  if (target.protocol === 'https:' || download.protocol !== 'https:' || digestKnown) return true;
  // The user's own server decides where it redirects its user.
  if (namedBy === 'origin') return true;
  // The user chose this edge without TLS, so its redirects may lead to http as well.
  return namedBy === 'own-edge' && start.protocol === 'http:';
}
