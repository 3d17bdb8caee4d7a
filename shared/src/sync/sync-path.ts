/**
 * Checks paths of files in a synchronised folder: relative, with `/` between names. A stranger's
 * path must stay inside the folder on every system, and must mean only one file.
 */

import { MAX_SYNC_DEPTH, MAX_SYNC_NAME_BYTES, MAX_SYNC_PATH_BYTES } from '../base/limits.ts';
import { DEVICE_NAME, isReadByWindows, SHORT_NAME } from '../download/request/harmful-name.ts';

/** Millrace's own folder for unfinished files, at the top of the synchronised folder. */
export const STAGING = '.millrace-sync';
/** Name of the script that `sync push` has hosts fetch, beside the manifest. */
export const SCRIPT_NAME = 'millrace-sync.sh';

/** Characters that Windows forbids in names; a colon also names a hidden stream of a file. */
const NOT_ON_WINDOWS = /[<>:"|?*]/;
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;
/** Characters that turn the order of others around, so that a name looks like another one. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/;

/**
 * Finds the fault of a path.
 *
 * @param windows true if the files will be on Windows, which allows fewer names
 * @returns a clause; undefined if the path has no fault
 */
export function pathFault(path: string, windows: boolean): string | undefined {
  const fault = plainFault(path);
  if (fault !== undefined) return fault;
  if (path.includes('\\')) return 'it has a backslash';
  if (/^[a-z]:/i.test(path)) return 'it is absolute';
  const names = path.split('/');
  const [first] = names as [string];
  if (clashKey(first) === STAGING || /^(?:millra|mi[0-9a-f]{4})~/i.test(first))
    return `${STAGING} is for what is under way`;
  for (const name of names) {
    const fault = nameFault(name, windows);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Finds the fault of a path that is used on this system alone: one that leads out of the folder, or
 * that no person could read. Sources of Linux have names that other systems have not, such as `aux.c`.
 *
 * @param windows true if this system is Windows
 * @returns a clause; undefined if the path has no fault
 */
export function localPathFault(path: string, windows: boolean): string | undefined {
  return windows ? pathFault(path, true) : plainFault(path);
}

/** Finds the faults that a path has on every system. */
function plainFault(path: string): string | undefined {
  if (path === '') return 'it is empty';
  if (!path.isWellFormed()) return 'it is no Unicode text';
  if (CONTROL.test(path)) return 'it has a control character';
  if (TURNING.test(path)) return 'it has a character that changes the direction of the text';
  if (path.startsWith('/')) return 'it is absolute';
  if (utf8Bytes(path) > MAX_SYNC_PATH_BYTES) return 'it is too long';
  const names = path.split('/');
  if (names.length > MAX_SYNC_DEPTH) return 'it is too deep';
  for (const name of names) {
    if (name === '') return 'a name in it is empty';
    if (name === '.' || name === '..') return `it has "${name}" in it`;
    if (utf8Bytes(name) > MAX_SYNC_NAME_BYTES) return 'a name in it is too long';
  }
  return undefined;
}

function nameFault(name: string, windows: boolean): string | undefined {
  if (/[. ]$/.test(name)) return 'a name in it ends in a dot or a space, which some systems drop';
  if (DEVICE_NAME.test(name)) return 'a name in it is that of a device on Windows';
  if (windows && SHORT_NAME.test(name)) return 'Windows may take it for the short name of another';
  if (windows && isReadByWindows(name)) return 'Windows reads files of such a name by itself';
  if (windows && NOT_ON_WINDOWS.test(name)) return 'Windows has no files of such a name';
  return undefined;
}

/**
 * Returns a key that is equal for paths that are one file on some system: a system that ignores
 * case, treats composed and decomposed letters alike, or drops invisible characters. When in doubt,
 * paths count as equal.
 */
export function clashKey(path: string): string {
  return path
    .normalize('NFD')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC');
}

/** Returns the folders that a path is in, outermost first: `a/b/c` is in `a` and `a/b`. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    folders.push(path.slice(0, at));
  }
  return folders;
}

/** Makes the URL of a file: the folder's URL and the percent-encoded path. */
export function fileUrl(folderUrl: string, path: string): string {
  return folderUrl + path.split('/').map(encodeURIComponent).join('/');
}

function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const char of text) {
    const code = char.codePointAt(0) as number;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** Finds paths that cannot exist together in one folder. */
export class PathClashes {
  readonly #keyOf: (path: string) => string;
  readonly #files = new Set<string>();
  /** First spelling of each folder, by its key. */
  readonly #folders = new Map<string, string>();

  /** @param keyOf returns the same text for paths that are one file; default: those that are so on some system */
  constructor(keyOf: (path: string) => string = clashKey) {
    this.#keyOf = keyOf;
  }

  /** Adds a file. @returns the fault, as a clause; undefined if it clashes with no path so far */
  addFile(path: string): string | undefined {
    const key = this.#keyOf(path);
    if (this.#files.has(key)) return 'another is the same but for case or the form of letters';
    if (this.#folders.has(key)) return 'a folder has that name';
    const fault = this.#addFolders(foldersAbove(path));
    if (fault === undefined) this.#files.add(key);
    return fault;
  }

  /** Adds a folder. @returns as `addFile` */
  addFolder(path: string): string | undefined {
    return this.#addFolders([...foldersAbove(path), path]);
  }

  #addFolders(folders: readonly string[]): string | undefined {
    for (const folder of folders) {
      const key = this.#keyOf(folder);
      if (this.#files.has(key)) return 'a file has the name of its folder';
      const known = this.#folders.get(key);
      if (known === undefined) this.#folders.set(key, folder);
      else if (known !== folder) return 'its folder is spelt in another way elsewhere';
    }
    return undefined;
  }
}
