/** Tells Metalink documents from other files. */

/** Media types of Metalink documents, versions 4 and 3. */
export const METALINK_TYPES = ['application/metalink4+xml', 'application/metalink+xml'] as const;

/**
 * Returns true if a server's Content-Type or a file's name shows a Metalink document. Servers also
 * send such documents as text/xml or application/octet-stream: then the name decides.
 */
export function looksLikeMetalink(mediaType: string | undefined, name: string): boolean {
  const type = mediaType?.split(';')[0]?.trim().toLowerCase();
  return METALINK_TYPES.some((known) => known === type) || /\.(?:meta4|metalink)$/i.test(name);
}
