/** URLs of pages and of their links. */

import { MAX_URL_CHARS } from '../../base/limits.ts';

/** Reads a link as a page writes it, without its fragment; undefined if it is not one of http or https. */
export function linkUrl(href: string, base: string): URL | undefined {
  if (href.length > MAX_URL_CHARS || !URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  if (!/^https?:$/.test(url.protocol) || url.href.length > MAX_URL_CHARS) return undefined;
  url.hash = '';
  return url;
}

/** Decodes a path; one whose escapes are not UTF-8 stays as it is written. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Returns true if each part of a path names something: "." and ".." would lead elsewhere. */
export function isPlainPath(parts: readonly string[]): boolean {
  return parts.length > 0 && parts.every((part) => !/^\.{0,2}$/.test(part));
}

/** Encodes the parts of a path. A lone half of a character, which no URL has, is replaced. */
export function encodedPath(parts: readonly string[]): string {
  return parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/');
}
