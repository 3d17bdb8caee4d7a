/** Kinds of sources that a download can have, and the links that lead to one. */

/**
 * An edge that relays the file, the file's own server, another server that has the file, or a place
 * of an exNode.
 */
export const SOURCE_KINDS = ['edge', 'origin', 'mirror', 'depot'] as const;

export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Schemes of the links that a download can fetch; links without a scheme get the first. */
export const FETCHABLE_SCHEMES: readonly string[] = ['https', 'http'];

const FETCHABLE = new RegExp(`^(?:${FETCHABLE_SCHEMES.join('|')})://`, 'i');

/** Returns true for a link whose scheme a download can fetch. */
export function isFetchable(link: string): boolean {
  return FETCHABLE.test(link);
}
