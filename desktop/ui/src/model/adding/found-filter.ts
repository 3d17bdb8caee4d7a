/** The links that were found, as the dialog for adding shows them: filtered, and by page. */

import type { FoundLink, PageLink } from '@millrace/shared/bridge/rpc/adding-api';
import { fitsPattern } from '@millrace/shared/text/wildcards';

/** A link of a text, or one of a page. */
export type ShownLink = FoundLink & Partial<Pick<PageLink, 'size' | 'folder' | 'wanted'>>;

export interface FoundFilter {
  /** Part of a name, or a pattern with `*` or `?`; empty: all. */
  readonly text: string;
  /** Name of a category; empty: all; `other`: links of no category. */
  readonly kind: string;
}

export const NO_FILTER: FoundFilter = { text: '', kind: '' };
/** Kind of links without a category. */
export const OTHER_KIND = '\u0000other';

/** Returns the links that fit the filter. */
export function filtered(links: readonly ShownLink[], { text, kind }: FoundFilter): ShownLink[] {
  const pattern = text.trim();
  return links.filter(({ name, folder = '', category }) => {
    if (kind !== '' && (category ?? OTHER_KIND) !== kind) return false;
    return (
      fitsPattern(folder === '' ? name : `${folder}/${name}`, pattern) || fitsPattern(name, pattern)
    );
  });
}

/** Returns the kinds that links have, the categories in the order of their first link, others last. */
export function kindsOf(links: readonly ShownLink[]): string[] {
  const kinds = new Set(links.map(({ category }) => category ?? OTHER_KIND));
  const hasOther = kinds.delete(OTHER_KIND);
  return hasOther ? [...kinds, OTHER_KIND] : [...kinds];
}

/** Returns the URLs that start unchecked: those in the list already, and links to other pages. */
export function leftAtFirst(links: readonly ShownLink[]): string[] {
  return links
    .filter(({ duplicate, wanted }) => duplicate?.same === 'url' || wanted === false)
    .map(({ url }) => url);
}

/** Returns true for a URL that by its looks leads to a page or a folder, and not to a file. */
export function looksLikePage(url: string): boolean {
  const path = url.replace(/[?#].*$/s, '').replace(/^https?:\/\/[^/]*/i, '');
  const last = path.slice(path.lastIndexOf('/') + 1);
  return !last.includes('.') || /\.(?:[xs]?html?|php\d?|aspx?|jsp|cgi)$/i.test(last);
}
