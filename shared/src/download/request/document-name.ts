/** Recognizes documents that describe downloads by the names that users give. */

import { documentLinkOf } from '../../http/urls/depot-link.ts';

/** Returns true for a URL or path with the extension of a metalink. */
function looksLikeMetalinkName(given: string): boolean {
  return /\.(meta4|metalink)$/i.test(pathOf(given));
}

/**
 * Returns true for a URL or path with the extension of an exNode, perhaps followed by a key or a
 * root: a link without its scheme is refused, and not downloaded as a file.
 */
export function looksLikeExnodeName(given: string): boolean {
  return /\.exnode(?:#[kr]\.[^/]*)?$/i.test(pathOf(given)) || isExnodeLink(given);
}

/**
 * Returns true for the address of an exNode, by its extension or the key or root that it ends in, and
 * for that of a file which an exNode at the same depot describes.
 */
export function isExnodeLink(given: string): boolean {
  if (!/^https?:/i.test(given) || !URL.canParse(given)) return false;
  const { pathname, hash } = new URL(given);
  if (documentLinkOf(given) !== undefined) return true;
  return /\.exnode$/i.test(pathname) || /^#(?:k\.[\w-]{43}|r\.[0-9a-f]{64})$/.test(hash);
}

/** Returns true for a magnet link. */
export function isMagnetLink(given: string): boolean {
  return /^\s*magnet:\?/i.test(given);
}

/** Returns true for a URL or path with the extension of a torrent. */
export function isTorrentName(given: string): boolean {
  return /\.torrent$/i.test(pathOf(given));
}

/** Returns true for a name that describes files instead of being one: a Metalink, a torrent or a magnet link. */
export function describesFiles(given: string): boolean {
  return looksLikeMetalinkName(given) || isTorrentName(given) || isMagnetLink(given);
}

function pathOf(given: string): string {
  return /^https?:/i.test(given) && URL.canParse(given) ? new URL(given).pathname : given;
}
