/** Recognizes documents that describe downloads, by the names that users give and by servers' answers. */

import { documentLinkOf } from '../../http/urls/depot-link.ts';

/** Media types of Metalink documents, versions 4 and 3. */
const METALINK_TYPES = ['application/metalink4+xml', 'application/metalink+xml'] as const;
const TORRENT_TYPE = 'application/x-bittorrent';

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
  if (!isLink(given) || !URL.canParse(given)) return false;
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

/** The words of a user, and of a server, about a file. */
export interface GivenFile {
  /** URL, path or magnet link, as the user has given it. */
  readonly given: string;
  /** Name that the user wants the file to have. */
  readonly output?: string | undefined;
  /** True if the user says which bytes the file has, as by a digest. */
  readonly isKnown?: boolean;
  /** Name of the file by its server. */
  readonly name?: string | undefined;
  /** Content-Type of the answer; undefined: nobody has asked yet. */
  readonly type?: string | undefined;
}

/**
 * Decides whether a file is followed to the files that it describes, and not kept as it is: by its
 * name and by the answer of its server. The name of a URL counts before the answer does. Whoever
 * names or knows the file itself wants that, so the answer counts for nothing then.
 */
export function isFollowed({ given, output, isKnown, name, type }: GivenFile): boolean {
  if (describesFiles(given)) {
    const isDocument = output !== undefined && isLink(given) && describesFiles(output);
    return !isDocument;
  }
  if (output !== undefined || isKnown === true) return false;
  return (name !== undefined && describesFiles(name)) || isDescriptionType(type);
}

function isLink(given: string): boolean {
  return /^https?:/i.test(given);
}

function pathOf(given: string): string {
  return isLink(given) && URL.canParse(given) ? new URL(given).pathname : given;
}

/** Returns true for the Content-Type of a Metalink document. */
export function isMetalinkType(contentType: string | undefined): boolean {
  const type = mediaType(contentType);
  return METALINK_TYPES.some((known) => known === type);
}

/** Returns true for the Content-Type of a torrent. */
export function isTorrentType(contentType: string | undefined): boolean {
  return mediaType(contentType) === TORRENT_TYPE;
}

/** Returns true for the Content-Type of a document that describes files. */
export function isDescriptionType(contentType: string | undefined): boolean {
  return isMetalinkType(contentType) || isTorrentType(contentType);
}

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';')[0]?.trim().toLowerCase();
}
