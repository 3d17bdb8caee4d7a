/** Names categories in the language of the page. */

import type { Key, Text } from '../../text/text.ts';

const KNOWN = ['images', 'video', 'audio', 'archives', 'documents', 'programs'] as const;
type KnownCategory = (typeof KNOWN)[number];
export const isKnown = (name: string): name is KnownCategory =>
  KNOWN.includes(name as KnownCategory);

/** Returns the name of a category; the initial categories are named in the reader's language. */
export function categoryName(text: Text, name: string): string {
  return isKnown(name) ? text.t(`category.${name}` as Key & 'category.video') : name;
}
