/** Names and icons of categories. */

import type { CategoryView } from '@millrace/shared/bridge/rpc/settings-api';
import type { IconName } from '@millrace/shared/ui/icons';
import type { Key, Text } from '../../text/text.ts';

const KNOWN = ['images', 'video', 'audio', 'archives', 'documents', 'programs'] as const;
type KnownCategory = (typeof KNOWN)[number];
export const isKnown = (name: string): name is KnownCategory =>
  KNOWN.includes(name as KnownCategory);

/** Returns the name of a category; the initial categories are named in the reader's language. */
export function categoryName(text: Text, name: string): string {
  return isKnown(name) ? text.t(`category.${name}` as Key & 'category.video') : name;
}

/** Returns the icon of a download's category, or of the category that its name would have. */
export function typeIcon(
  { name, category }: { readonly name: string; readonly category?: string | undefined },
  categories: readonly CategoryView[] = [],
): IconName {
  const end = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  const byName = categories.find(({ extensions }) => extensions.includes(end))?.name;
  const kind = category ?? byName ?? '';
  return isKnown(kind) ? kind : 'file';
}
