/**
 * Confines the downloads of an untrusted list to the user's download folder. The list's folders and
 * names may be written for this system or for another one.
 */

import { safeFileName } from './file-name.ts';
import { faultOfFileName } from './file-path.ts';

const MAX_PATH_CHARS = 4096;
/** Most nested folders below the download folder. */
const MAX_DEPTH = 32;

/** A path in its parts; the root is empty for relative paths. */
interface PathParts {
  readonly root: string;
  readonly names: readonly string[];
}

/**
 * Returns the part of a listed folder that is below the download folder, with every name made safe:
 * hidden folders such as `.ssh` lose their dot, devices of Windows are renamed.
 *
 * @param base absolute path of the download folder
 * @param listed the folder in the list: relative to the download folder, or absolute
 * @param windows true if paths ignore case
 * @returns a relative path with `/` between names, empty for the download folder itself; undefined
 *   for folders elsewhere, and for paths that mean different things on different systems
 */
export function folderBelow(base: string, listed: string, windows: boolean): string | undefined {
  const from = parts(base);
  const to = parts(listed);
  if (from === undefined || to === undefined) return undefined;
  let { names } = to;
  if (to.root !== '') {
    const key = (text: string) => (windows ? text.toLowerCase() : text);
    if (key(to.root) !== key(from.root)) return undefined;
    if (from.names.some((name, i) => key(name) !== key(names[i] ?? ''))) return undefined;
    names = names.slice(from.names.length);
  }
  return names.length > MAX_DEPTH ? undefined : names.map(safeFileName).join('/');
}

/**
 * Makes every part of a listed name, or of a path relative to its folder, safe.
 *
 * @returns undefined if the name would leave the folder
 */
export function nameBelow(listed: string): string | undefined {
  const name = listed.replace(/\\/g, '/');
  if (/^~/.test(name) || faultOfFileName(name) !== undefined) return undefined;
  return name.split('/').map(safeFileName).join('/');
}

function parts(path: string): PathParts | undefined {
  if (path.length > MAX_PATH_CHARS || /[\x00-\x1f\x7f]/.test(path) || !path.isWellFormed()) {
    return undefined;
  }
  const plain = path.replace(/\\/g, '/');
  // Refuse devices, shares (UNC), home folders that a shell would expand, drive-relative paths.
  if (/^(?:\/\/|~|[a-z]:(?!\/))/i.test(plain)) return undefined;
  const [root = ''] = /^(?:\/|[a-z]:\/)/i.exec(plain) ?? [];
  const names = plain
    .slice(root.length)
    .split('/')
    .filter((name) => name !== '' && name !== '.');
  return names.includes('..') ? undefined : { root, names };
}
