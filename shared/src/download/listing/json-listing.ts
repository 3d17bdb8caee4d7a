/** Reads listings for programs: nginx's `autoindex_format json`, and what Caddy's `browse` answers. */

import type { PageLink } from './page-link.ts';
import { encodedPath, isPlainPath, linkUrl } from './page-url.ts';

/** Returns the files and folders of a listing at this URL; undefined if the text is not one. */
export function readJsonListing(url: string, text: string): PageLink[] | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(read)) return undefined;
  const links: PageLink[] = [];
  for (const one of read as unknown[]) {
    const entry = (typeof one === 'object' ? one : null) as Record<string, unknown> | null;
    if (typeof entry?.name !== 'string') return undefined;
    const isFolder = entry.type === 'directory' || entry.is_dir === true;
    const name = entry.name.replace(/\/$/, '');
    if (!isPlainPath([name])) continue;
    const target = linkUrl(`./${encodedPath([name])}${isFolder ? '/' : ''}`, url);
    if (target === undefined) continue;
    const { size } = entry;
    const known = !isFolder && Number.isSafeInteger(size) && (size as number) >= 0;
    const link = { url: target.href, isFolder, folder: '' };
    links.push(known ? { ...link, size: size as number } : link);
  }
  return links;
}
