/** Kinds of sources that a download can have, and the links that lead to one. */

/**
 * An edge that relays the file, the file's own server, another server that has the file, a place of an
 * exNode, or an edge that has announced itself on the local network: nobody has named that one, so
 * it never says what the file is, and gives bytes only of files that a digest proves.
 */
export const SOURCE_KINDS = ['edge', 'origin', 'mirror', 'depot', 'house'] as const;

export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Schemes of the links that a download can fetch; links without a scheme get the first. */
export const FETCHABLE_SCHEMES: readonly string[] = ['https', 'http'];

const FETCHABLE = new RegExp(`^(?:${FETCHABLE_SCHEMES.join('|')})://`, 'i');

/** Returns true for a link whose scheme a download can fetch. */
export function isFetchable(link: string): boolean {
  return FETCHABLE.test(link);
}
