/** Changes the category of an existing download. */

import { resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Category } from '@millrace/shared/download/request/category';
import type { DownloadRecord } from '../store/record.ts';

interface Shelves {
  /** Download folder. */
  readonly dir: string;
  readonly categories: readonly Category[];
}

export interface CategoryChange {
  readonly category: string | undefined;
  /** The new category's folder, if the download moves there. */
  readonly dir?: string;
}

/**
 * Changes the category of a download. The download moves to the new category's folder if it was to
 * go to the old one's and has not begun: files that have been begun stay where they are.
 *
 * @param wanted null: none
 * @throws MillraceError `bad-option` if there is no such category
 */
export function toCategory(
  { category, path, request }: Pick<DownloadRecord, 'category' | 'path' | 'request'>,
  wanted: string | null,
  { dir, categories }: Shelves,
): CategoryChange {
  const named = (name: string | null | undefined) => categories.find((c) => c.name === name);
  const to = named(wanted);
  if (wanted !== null && to === undefined) {
    throw new MillraceError('bad-option', { code: 'no-category', values: { name: wanted } });
  }
  const folderOf = (of: Category | undefined) => resolve(dir, of?.folder ?? '');
  const follows = path === undefined && request.dir === folderOf(named(category));
  return { category: to?.name, ...(follows ? { dir: folderOf(to) } : {}) };
}
