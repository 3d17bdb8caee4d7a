/** Reads nginx's listings for programs, `autoindex_format xml` (ngx_http_autoindex_module). */

import { childElements } from '../metalink/xml-tree.ts';
import { entryLink } from './listed-entry.ts';
import type { PageLink } from './page-link.ts';
import { elementText, xmlRoot } from './xml-page.ts';

/** Returns the files and folders of a listing at this URL; undefined if the text is not one. */
export function readXmlListing(url: string, text: string): PageLink[] | undefined {
  const root = xmlRoot(text);
  if (root?.local !== 'list') return undefined;
  const links: PageLink[] = [];
  for (const node of childElements(root)) {
    // The third kind, `other`, are sockets, pipes and devices.
    if (node.local !== 'file' && node.local !== 'directory') continue;
    const size = node.attributes.find(({ local }) => local === 'size')?.value ?? '';
    const link = entryLink(url, {
      name: elementText(node),
      isFolder: node.local === 'directory',
      size: /^\d+$/.test(size) ? Number(size) : undefined,
    });
    if (link !== undefined) links.push(link);
  }
  return links;
}
