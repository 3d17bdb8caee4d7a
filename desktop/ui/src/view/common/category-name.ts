/** The name of a category in the language of the page, where it is one of ours. */

import type { Key, Text } from '../../text/text.ts';

const KNOWN = ['images', 'video', 'audio', 'archives', 'documents', 'programs'] as const;
type KnownCategory = (typeof KNOWN)[number];
export const isKnown = (name: string): name is KnownCategory =>
  KNOWN.includes(name as KnownCategory);

/** The initial categories are named in the reader's language. */
export function categoryName(text: Text, name: string): string {
  return isKnown(name) ? text.t(`category.${name}` as Key & 'category.video') : name;
}
