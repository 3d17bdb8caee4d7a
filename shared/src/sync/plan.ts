/**
 * Plans the steps that bring a folder to the state of a manifest (WORLDS 4.2: each file is checked,
 * and fetched only if it differs). Does no I/O: the folder's contents are passed in.
 */

import { EMPTY_SHA256, isExecutable, type Manifest, type SyncFile } from './manifest.ts';
import { clashKey, foldersAbove } from './sync-path.ts';

/** An entry of the folder. */
export type LocalEntry =
  | { readonly kind: 'folder' }
  /** A symbolic link, whatever its target. */
  | { readonly kind: 'link' }
  /** A device, pipe or socket. */
  | { readonly kind: 'special' }
  | LocalFile;

export interface LocalFile {
  readonly kind: 'file';
  readonly size: number;
  readonly executable: boolean;
  /** When the file was changed, Unix milliseconds. */
  readonly modified: number;
  /** SHA-256 of its bytes, if it has been computed. */
  readonly sha256?: string | undefined;
}

/** Content that is needed, and the files that need it. */
export interface Wanted {
  /** One of the files in `places`, which all have the same content. */
  readonly file: SyncFile;
  readonly places: readonly SyncFile[];
}

export interface SyncPlan {
  /** Entries in the way of wanted ones, which are removed first. */
  readonly clear: readonly string[];
  /** Folders to make, outer folders first. */
  readonly folders: readonly string[];
  readonly fetch: readonly Wanted[];
  /** Content to copy from a file in the folder that stays. */
  readonly copy: readonly (Wanted & { readonly from: string })[];
  /** Files in which only the time or the execution bit is wrong. */
  readonly settle: readonly SyncFile[];
  /** Entries to remove that are not in the manifest: files and links, then folders, inner first. */
  readonly remove: readonly string[];
  /** Entries in the way that may not be removed; if there are any, nothing is done. */
  readonly obstacles: readonly { readonly path: string; readonly kind: LocalEntry['kind'] }[];
  /** Number of files that need no change. */
  readonly unchanged: number;
  /** Number of files to fetch, and their bytes, with equal content counted once. */
  readonly fetchFiles: number;
  readonly fetchBytes: number;
}

export interface PlanOptions {
  /** True if entries that are not in the manifest are removed. */
  readonly remove: boolean;
  /** False on systems where files have no execution bit. */
  readonly modes: boolean;
}

/** Returns true if only the digest can decide: the length is right, and the file is not empty. */
export function needsDigest(file: SyncFile, local: LocalEntry | undefined): local is LocalFile {
  return local?.kind === 'file' && local.size === file.size && file.size > 0;
}

/**
 * Makes the plan.
 *
 * @param local entries of the folder, by path: at least those at paths of the manifest and above
 *   them; all entries if extra ones are to be removed
 */
export function planSync(
  manifest: Manifest,
  local: ReadonlyMap<string, LocalEntry>,
  options: PlanOptions,
): SyncPlan {
  const folders = foldersOf(manifest);
  const inTheWay = findInTheWay(manifest.files, folders, local);
  const clear = options.remove ? inTheWay.flatMap(({ path }) => below(path, local)) : [];
  const cleared = new Set(clear);
  const there = (path: string) => (cleared.has(path) ? undefined : local.get(path));

  const settle: SyncFile[] = [];
  const wanted = new Map<string, SyncFile[]>();
  const holders = new Map<string, string>();
  let unchanged = 0;
  for (const file of manifest.files) {
    const entry = there(file.path);
    if (!hasContent(file, entry)) {
      const places = wanted.get(file.sha256);
      if (places === undefined) wanted.set(file.sha256, [file]);
      else places.push(file);
      continue;
    }
    if (!holders.has(file.sha256)) holders.set(file.sha256, file.path);
    if (isSettled(file, entry, options.modes)) unchanged++;
    else settle.push(file);
  }
  const fetch: Wanted[] = [];
  const copy: (Wanted & { from: string })[] = [];
  for (const [sha256, places] of wanted) {
    const from = holders.get(sha256);
    const need = { file: places[0] as SyncFile, places };
    if (from === undefined || sha256 === EMPTY_SHA256) fetch.push(need);
    else copy.push({ ...need, from });
  }
  return {
    clear,
    folders: [...folders].filter((path) => there(path) === undefined).sort(byDepth),
    fetch,
    copy,
    settle,
    remove: options.remove ? extras(manifest, folders, local, cleared) : [],
    obstacles: options.remove ? [] : inTheWay,
    unchanged,
    fetchFiles: fetch.reduce((sum, { places }) => sum + places.length, 0),
    fetchBytes: fetch.reduce((sum, { file }) => sum + file.size, 0),
  };
}

/** Returns all folders that the manifest needs. */
export function foldersOf({ files, folders }: Manifest): Set<string> {
  const all = new Set(folders);
  for (const path of folders) for (const above of foldersAbove(path)) all.add(above);
  for (const { path } of files) for (const above of foldersAbove(path)) all.add(above);
  return all;
}

function hasContent(file: SyncFile, entry: LocalEntry | undefined): entry is LocalFile {
  if (entry?.kind !== 'file' || entry.size !== file.size) return false;
  return file.size === 0 || entry.sha256 === file.sha256;
}

function isSettled(file: SyncFile, entry: LocalFile, modes: boolean): boolean {
  if (modes && entry.executable !== isExecutable(file)) return false;
  return entry.modified === file.modified;
}

/**
 * Finds entries in the way. A link in place of a file is not in the way: the file replaces the
 * link, and the link's target is left alone. A link in place of a folder is in the way: no file may
 * be written to its target.
 */
function findInTheWay(
  files: readonly SyncFile[],
  folders: ReadonlySet<string>,
  local: ReadonlyMap<string, LocalEntry>,
): { path: string; kind: LocalEntry['kind'] }[] {
  const found: { path: string; kind: LocalEntry['kind'] }[] = [];
  for (const path of folders) {
    const entry = local.get(path);
    if (entry !== undefined && entry.kind !== 'folder') found.push({ path, kind: entry.kind });
  }
  for (const { path } of files) {
    const entry = local.get(path);
    if (entry?.kind === 'folder' || entry?.kind === 'special') {
      found.push({ path, kind: entry.kind });
    }
  }
  return found;
}

/** Lists an entry and everything in it, inner entries first. */
function below(path: string, local: ReadonlyMap<string, LocalEntry>): string[] {
  const inside = [...local.keys()].filter((other) => other.startsWith(`${path}/`));
  return [...inside.sort(byDepth).reverse(), path];
}

function extras(
  manifest: Manifest,
  folders: ReadonlySet<string>,
  local: ReadonlyMap<string, LocalEntry>,
  cleared: ReadonlySet<string>,
): string[] {
  // An entry with the key of a listed path may be that file on some system, so it is kept.
  const kept = new Set([...manifest.files.map(({ path }) => path), ...folders].map(clashKey));
  const extra = [...local].filter(([path]) => !cleared.has(path) && !kept.has(clashKey(path)));
  const paths = (kind: (entry: LocalEntry) => boolean) =>
    extra.filter(([, entry]) => kind(entry)).map(([path]) => path);
  return [
    ...paths(({ kind }) => kind !== 'folder').sort(),
    ...paths(({ kind }) => kind === 'folder')
      .sort(byDepth)
      .reverse(),
  ];
}

/** Orders outer paths first. */
function byDepth(a: string, b: string): number {
  return a.split('/').length - b.split('/').length || (a < b ? -1 : 1);
}
