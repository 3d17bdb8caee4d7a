/**
 * Plans the steps that bring a folder to the state of a manifest (WORLDS 4.2: each file is looked
 * at, and fetched only if it differs). Pure: the folder's contents are passed in.
 */

import { EMPTY_SHA256, isExecutable, type Manifest, type SyncFile } from './manifest.ts';
import { clashKey, foldersAbove } from './sync-path.ts';

/** Something in the folder. */
export type LocalEntry =
  | { readonly kind: 'folder' }
  /** Symbolic links, whatever their target. */
  | { readonly kind: 'link' }
  /** Devices, pipes, sockets. */
  | { readonly kind: 'special' }
  | LocalFile;

export interface LocalFile {
  readonly kind: 'file';
  readonly size: number;
  readonly executable: boolean;
  /** Unix milliseconds. */
  readonly modified: number;
  /** SHA-256 of its bytes, where it has been worked out. */
  readonly sha256?: string | undefined;
}

/** A content that is needed, and where. */
export interface Wanted {
  /** One of the files; all have the same content. */
  readonly file: SyncFile;
  readonly places: readonly SyncFile[];
}

export interface SyncPlan {
  /** In the way of wanted entries: removed first. */
  readonly clear: readonly string[];
  /** Folders to make, outer ones first. */
  readonly folders: readonly string[];
  readonly fetch: readonly Wanted[];
  /** Content that is in the folder already, in a file that stays. */
  readonly copy: readonly (Wanted & { readonly from: string })[];
  /** Right but for the time or the execution bit. */
  readonly settle: readonly SyncFile[];
  /** Entries that are not in the manifest: files and links, then folders, inner ones first. */
  readonly remove: readonly string[];
  /** Entries in the way that may not be removed; with any of these nothing is done. */
  readonly obstacles: readonly { readonly path: string; readonly kind: LocalEntry['kind'] }[];
  /** Files that are as they should be. */
  readonly unchanged: number;
  /** Files to fetch, and bytes: of each content once. */
  readonly fetchFiles: number;
  readonly fetchBytes: number;
}

export interface PlanOptions {
  /** Whether entries that are not in the manifest are removed. */
  readonly remove: boolean;
  /** False where files have no execution bit. */
  readonly modes: boolean;
}

/** True for files in the folder whose digest decides: of the right length, and not empty. */
export function needsDigest(file: SyncFile, local: LocalEntry | undefined): local is LocalFile {
  return local?.kind === 'file' && local.size === file.size && file.size > 0;
}

/**
 * Makes the plan.
 *
 * @param local entries of the folder, by path: at least those at paths of the manifest and above
 *   them; all of them where entries are to be removed
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

/** All folders that the manifest needs. */
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
 * A link in the place of a file is no obstacle: the file replaces it, and its target is left alone.
 * A link in the place of a folder is one: files must not be written to its target.
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
  // On some systems these are names of files of the manifest.
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

/** Outer ones first. */
function byDepth(a: string, b: string): number {
  return a.split('/').length - b.split('/').length || (a < b ? -1 : 1);
}
