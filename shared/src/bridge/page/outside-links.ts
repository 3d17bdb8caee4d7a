/** Reads links and files that come from outside: in arguments, `millrace:` links, the clipboard. */

import { categoryOf, DEFAULT_CATEGORIES } from '../../download/request/category.ts';
import { isDownloadUrl } from './download-url.ts';

export const SCHEME = 'millrace';

/** Most URLs that one link may carry. */
const MAX_LINK_URLS = 50;
/** Most URLs in a copied text: a text with more was not copied to be downloaded. */
const MAX_COPIED_URLS = 50;
/** Most characters of a copied text; longer texts are not looked at. */
const MAX_COPIED_CHARS = 64 * 1024;
const MAX_ARGUMENTS = 200;

/** The request that a start of the app carries. */
export interface LaunchRequest {
  readonly urls: readonly string[];
  /** Metalink files, paths as they were given. */
  readonly files: readonly string[];
  /** Start in the tray, without a window. */
  readonly hidden: boolean;
}

/**
 * Returns the URLs of a `millrace:` link. A link is `millrace:URL`, or `millrace:?url=URL&url=URL`
 * with the URLs percent-encoded; some browsers insist on slashes, so `millrace://add?url=URL` is
 * the same.
 *
 * @returns none where the link has none that can be downloaded
 */
export function urlsOfLink(link: string): readonly string[] {
  const match = /^millrace:(.*)$/is.exec(link.trim());
  if (match === null) return [];
  const rest = match[1] as string;
  const query = /^(?:\/\/)?(?:add)?\/?\?(.*)$/is.exec(rest);
  const urls = query === null ? [plainUrl(rest)] : new URLSearchParams(query[1]).getAll('url');
  return unique(urls.filter(isDownloadUrl)).slice(0, MAX_LINK_URLS);
}

/** Returns a link that opens the app with these URLs. */
export function linkOf(urls: readonly string[]): string {
  return `${SCHEME}:?${urls.map((url) => `url=${encodeURIComponent(url)}`).join('&')}`;
}

/** Sorts the arguments of a start; skips foreign ones (Chromium's switches, the program itself). */
export function readArguments(args: readonly string[]): LaunchRequest {
  const urls: string[] = [];
  const files: string[] = [];
  for (const argument of args.slice(0, MAX_ARGUMENTS)) {
    if (argument.startsWith('-')) continue;
    if (/^millrace:/i.test(argument)) urls.push(...urlsOfLink(argument));
    else if (isDownloadUrl(argument)) urls.push(argument);
    else if (isMetalinkFile(argument)) files.push(argument);
  }
  return { urls: unique(urls), files: unique(files), hidden: args.includes('--hidden') };
}

/** Returns true for names that Metalink files, torrents and exNodes have. */
export function isMetalinkFile(name: string): boolean {
  return /\.(?:meta4|metalink|torrent|exnode)$/i.test(name);
}

/**
 * Returns the URLs of a copied text if they are likely to be downloads: the text has only URLs, and
 * at least one of them has a file name that people download.
 */
export function urlsOfCopied(text: string): readonly string[] {
  if (text.length > MAX_COPIED_CHARS) return [];
  const words = text.trim().split(/\s+/);
  if (words.length > MAX_COPIED_URLS || !words.every(isDownloadUrl)) return [];
  return words.some(looksLikeFile) ? unique(words) : [];
}

/** Returns a short name of a URL: its file, otherwise its host. */
export function nameOfUrl(url: string): string {
  const { pathname, hostname } = new URL(url);
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last) || hostname;
  } catch {
    return last;
  }
}

function looksLikeFile(url: string): boolean {
  const { pathname, hostname } = new URL(url);
  const name = nameOfUrl(url);
  // A host may have a name like that of a file.
  if (pathname === '/' && name === hostname) return false;
  // A copied link to a torrent is mostly meant for a torrent client.
  if (/\.torrent$/i.test(name)) return false;
  return isMetalinkFile(name) || categoryOf(name, DEFAULT_CATEGORIES) !== undefined;
}

/** Removes the slashes of `millrace://https://...`, where the inner colon may have been lost. */
function plainUrl(rest: string): string {
  const url = rest.replace(/^\/\/(?=https?:?\/)/i, '');
  return url.replace(/^(https?)\/\//i, '$1://');
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}
