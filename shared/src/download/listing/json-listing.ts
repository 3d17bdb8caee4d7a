/** Reads listings for programs: nginx's `autoindex_format json`, and what Caddy's `browse` answers. */

import { entryLink } from './listed-entry.ts';
import type { PageLink } from './page-link.ts';

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
    // Sockets, pipes and devices, by nginx's word.
    if (entry.type === 'other') continue;
    const isFolder = entry.type === 'directory' || entry.is_dir === true;
    const name = entry.name.replace(/\/$/, '');
    const link = entryLink(url, { name, isFolder, size: entry.size });
    if (link !== undefined) links.push(link);
  }
  return links;
}
