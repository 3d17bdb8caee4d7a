/** Tells Metalink documents from other files. */

import { isMetalinkType } from '../request/document-name.ts';

/**
 * Returns true if a server's Content-Type or a file's name shows a Metalink document. Servers also
 * send such documents as text/xml or application/octet-stream: then the name decides.
 */
export function looksLikeMetalink(mediaType: string | undefined, name: string): boolean {
  return isMetalinkType(mediaType) || /\.(?:meta4|metalink)$/i.test(name);
}
