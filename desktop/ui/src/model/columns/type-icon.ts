/** Chooses the icon of a file by its type. */

import type { CategoryView } from '@millrace/shared/bridge/rpc/settings-api';
import type { IconName } from '@millrace/shared/ui/icons';

const ICONS: Readonly<Record<string, IconName>> = {
  images: 'images',
  video: 'video',
  audio: 'audio',
  archives: 'archives',
  documents: 'documents',
  programs: 'programs',
};

/** Returns the icon of a download's category, or of the category that its name would have. */
export function typeIcon(
  { name, category }: { readonly name: string; readonly category?: string | undefined },
  categories: readonly CategoryView[] = [],
): IconName {
  const end = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  const byName = categories.find(({ extensions }) => extensions.includes(end))?.name;
  return ICONS[category ?? byName ?? ''] ?? 'file';
}
