/** Makes links of the entries of listings for programs, which give names and not addresses. */

import type { PageLink } from './page-link.ts';
import { encodedPath, isPlainPath, linkUrl } from './page-url.ts';

export interface ListedEntry {
  /** As the server wrote it; one without a folder's "/" at its end. */
  readonly name: string;
  readonly isFolder: boolean;
  /** Bytes; anything that cannot be a size counts as none. */
  readonly size: unknown;
}

/** Returns the link of an entry of the folder at this URL; undefined for names that lead elsewhere. */
export function entryLink(
  url: string,
  { name, isFolder, size }: ListedEntry,
): PageLink | undefined {
  if (!isPlainPath([name])) return undefined;
  const target = linkUrl(`./${encodedPath([name])}${isFolder ? '/' : ''}`, url);
  if (target === undefined) return undefined;
  const link = { url: target.href, isFolder, folder: '' };
  const isKnown = !isFolder && Number.isSafeInteger(size) && (size as number) >= 0;
  return isKnown ? { ...link, size: size as number } : link;
}
