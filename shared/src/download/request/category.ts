/** Chooses the folder of a download by its kind of file. */

import { MillraceError } from '../../base/errors.ts';
import { safeFileName } from './file-name.ts';

export interface Category {
  readonly name: string;
  /** Path, relative to the download folder or absolute; empty: the download folder itself. */
  readonly folder: string;
  /** Extensions in lower case, without the dot. */
  readonly extensions: readonly string[];
}

const MAX_CATEGORIES = 100;
const MAX_EXTENSIONS = 200;
const MAX_NAME_CHARS = 64;
const MAX_FOLDER_CHARS = 1024;

/** Default categories; all of them use the download folder until the user changes that. */
export const DEFAULT_CATEGORIES: readonly Category[] = [
  { name: 'images', folder: '', extensions: ['iso', 'img', 'qcow2', 'vmdk', 'vdi', 'dmg', 'wim'] },
  { name: 'video', folder: '', extensions: ['mp4', 'mkv', 'webm', 'avi', 'mov', 'm4v', 'ts'] },
  { name: 'audio', folder: '', extensions: ['mp3', 'flac', 'ogg', 'opus', 'm4a', 'wav', 'aac'] },
  {
    name: 'archives',
    folder: '',
    extensions: ['zip', '7z', 'rar', 'tar', 'gz', 'tgz', 'bz2', 'xz', 'zst'],
  },
  { name: 'documents', folder: '', extensions: ['pdf', 'epub', 'djvu', 'odt', 'docx', 'xlsx'] },
  { name: 'programs', folder: '', extensions: ['exe', 'msi', 'deb', 'rpm', 'pkg', 'appimage'] },
];

/** Finds the first category that has the extension of a file name; undefined: none. */
export function categoryOf(
  fileName: string,
  categories: readonly Category[],
): Category | undefined {
  const dot = fileName.lastIndexOf('.');
  if (dot < 0) return undefined;
  const extension = fileName.slice(dot + 1).toLowerCase();
  return categories.find((category) => category.extensions.includes(extension));
}

/**
 * Checks and cleans up the categories that a user has entered.
 *
 * @throws MillraceError `bad-option`: a bad name, extension or folder, two categories of one name,
 *   too many categories or extensions
 */
export function checkCategories(categories: readonly Category[]): Category[] {
  if (categories.length > MAX_CATEGORIES) fail(`more than ${MAX_CATEGORIES} categories`);
  const names = new Set<string>();
  return categories.map(({ name, folder, extensions }) => {
    const trimmed = name.trim();
    if (trimmed === '' || trimmed.length > MAX_NAME_CHARS) fail(`"${name}" is not a name`);
    if (names.has(trimmed)) fail(`there are two categories called "${trimmed}"`);
    names.add(trimmed);
    if (extensions.length > MAX_EXTENSIONS) fail(`"${trimmed}" has too many extensions`);
    const clean = extensions.map((e) => e.trim().toLowerCase().replace(/^\./, ''));
    if (clean.some((e) => !/^[^\s./\\]{1,32}$/u.test(e))) {
      fail(`an extension of "${trimmed}" has a space, dot or slash, or is too long`);
    }
    return { name: trimmed, folder: checkFolder(folder, trimmed), extensions: clean };
  });
}

function checkFolder(folder: string, name: string): string {
  if (folder.length > MAX_FOLDER_CHARS || /[\x00-\x1f]/.test(folder)) {
    fail(`the folder of "${name}" cannot be used`);
  }
  const absolute = /^(?:[/\\]|[A-Za-z]:[/\\])/.test(folder);
  const parts = folder.split(/[/\\]/).filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) fail(`the folder of "${name}" has ".." in it`);
  if (absolute) return folder;
  if (parts.some((part) => safeFileName(part) !== part)) {
    fail(`the folder of "${name}" has a part that cannot be a folder everywhere`);
  }
  return parts.join('/');
}

function fail(detail: string): never {
  throw new MillraceError('bad-option', detail);
}
