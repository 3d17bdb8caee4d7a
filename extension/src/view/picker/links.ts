/** Lists the links of a page for the picker: each file once, with its name and type. */

import { categoryOf, DEFAULT_CATEGORIES } from '@millrace/shared/download/request/category';
import type { FoundLinks } from '../../contract/messages.ts';
import type { Key } from '../../text/text.ts';

/** Most links in the list, all of which may be added at once. */
export const MAX_LINKS = 10_000;
const MAX_URL_CHARS = 65_536;

const TYPES = ['images', 'video', 'audio', 'archives', 'documents', 'programs', 'other'] as const;
export type LinkType = (typeof TYPES)[number];

export interface PickerLink {
  readonly url: string;
  /** Probable name of the file. */
  readonly name: string;
  readonly host: string;
  /** Text of the link on the page. */
  readonly text: string;
  readonly type: LinkType;
  /** Text to search in, in lower case. */
  readonly search: string;
}

export interface Listed {
  readonly links: readonly PickerLink[];
  /** Whether the page has more links than the list. */
  readonly cut: boolean;
}

/**
 * Returns the links that can be downloaded, in the order of the page. Of several links to one file
 * only the first stays.
 */
export function listLinks(found: FoundLinks): Listed {
  const links = new Map<string, PickerLink>();
  let cut = false;
  for (const { url, text } of found.links) {
    const link = toLink(url, text);
    if (link === undefined || links.has(link.url)) continue;
    if (links.size === MAX_LINKS) {
      cut = true;
      break;
    }
    links.set(link.url, link);
  }
  return { links: [...links.values()], cut };
}

function toLink(given: string, text: string): PickerLink | undefined {
  if (given.length > MAX_URL_CHARS || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  // The fragment does not change the file.
  url.hash = '';
  const name = nameOf(url);
  const words = text.replace(/\s+/g, ' ').trim().slice(0, 300);
  return {
    url: url.href,
    name,
    host: url.host,
    text: words === name ? '' : words,
    type: typeOf(name),
    search: `${name}\n${words}\n${url.href}`.toLowerCase(),
  };
}

function nameOf(url: URL): string {
  const last = url.pathname.split('/').findLast((part) => part !== '');
  if (last === undefined) return url.host;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function typeOf(name: string): LinkType {
  const category = categoryOf(name, DEFAULT_CATEGORIES)?.name;
  return TYPES.find((type) => type === category) ?? 'other';
}

/** Returns the places of links that contain all the words and have the type. */
export function shownLinks(
  links: readonly PickerLink[],
  search: string,
  type: LinkType | 'all',
): readonly number[] {
  const words = search.toLowerCase().split(/\s+/);
  return links.flatMap((link, index) => {
    if (type !== 'all' && link.type !== type) return [];
    return words.every((word) => link.search.includes(word)) ? [index] : [];
  });
}

/** Returns the number of links of each type, without empty types. */
export function countTypes(links: readonly PickerLink[]): readonly (readonly [LinkType, number])[] {
  const counts = new Map<LinkType, number>();
  for (const { type } of links) counts.set(type, (counts.get(type) ?? 0) + 1);
  return TYPES.flatMap((type) => {
    const count = counts.get(type);
    return count === undefined ? [] : [[type, count] as const];
  });
}

export const typeKey = (type: LinkType | 'all') => `type.${type}` as const satisfies Key;
