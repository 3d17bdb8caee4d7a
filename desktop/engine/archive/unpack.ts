/**
 * Unpacks a tar into a folder of its own. All of it is written to a new folder at first, and takes its
 * place only when the whole tar was found to be harmless: a tar that is refused leaves nothing. What has
 * been unpacked survives a crash of the machine.
 */

import { createReadStream } from 'node:fs';
import { lstat, mkdir, mkdtemp, open, readdir, rename, rm, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { MAX_ARCHIVE_MEMBERS } from '@millrace/shared/base/limits';
import {
  foldersAbove,
  localPathFault,
  PathClashes,
  pathFault,
} from '@millrace/shared/sync/sync-path';
import { fileError } from '../files/file-error.ts';
import { linkFile, makeLinks } from './archive-links.ts';
import { syncFiles, syncFolders } from './sync-files.ts';
import { readEntries, type TarEntry } from './tar-entries.ts';

const SUFFIX = '.tar';
const READ_BYTES = 1024 * 1024;

export interface Unpacked {
  /** The folder, absolute. */
  readonly folder: string;
  readonly files: number;
  /** Number of folders, the folder itself included. */
  readonly folders: number;
}

/**
 * Unpacks `NAME.tar` into the folder `NAME` beside it. If all that is in the tar is in one folder, that
 * one becomes `NAME`.
 *
 * @param path of the tar, absolute
 * @param overwrites true to replace files that exist
 * @throws MillraceError `bad-archive` if a member is a link or a special file, or has a path that leads out, that
 *   another member has, or that some system has no such name for, or if it is no tar; `file-exists`;
 *   `interrupted`; those of the disk
 */
export async function unpack(
  path: string,
  overwrites: boolean,
  signal: AbortSignal,
): Promise<Unpacked> {
  if (!path.toLowerCase().endsWith(SUFFIX) || basename(path).length === SUFFIX.length) {
    throw new MillraceError('bad-archive', { code: 'archive-not-tar', values: { path } });
  }
  const folder = path.slice(0, -SUFFIX.length);
  const feed: Feed = (take) =>
    readEntries(createReadStream(path, { highWaterMark: READ_BYTES }), take, signal);
  // Nobody else may write there.
  const stage = () => mkdtemp(`${folder}.millrace-unpack-`);
  return unpackEntries({ feed, path, folder, stage, overwrites }, signal);
}

/** Calls `take` for each entry of an archive, one after the other. */
export type Feed = (
  take: (entry: TarEntry, content: AsyncIterable<Uint8Array>) => Promise<void>,
) => Promise<void>;

export interface Unpackable {
  readonly feed: Feed;
  /** Path of the archive, for messages. */
  readonly path: string;
  /** The new folder, absolute. */
  readonly folder: string;
  /** Makes an empty folder on the same disk, which is deleted at the end, and returns its path. */
  readonly stage: () => Promise<string>;
  readonly overwrites: boolean;
  /** Called before the content is moved to its place. @param made path of the content */
  readonly onPlace?: (made: string) => Promise<void>;
  /** Most bytes of all files together; default: no bound. */
  readonly maxBytes?: number;
  /** Most files and folders; default: `MAX_ARCHIVE_MEMBERS`. */
  readonly maxMembers?: number;
  /**
   * True for an archive of any kind that is only used here: links that stay inside are made, and names
   * count that other systems do not have. Windows lets few users make links, so they are refused there.
   */
  readonly local?: boolean;
}

/**
 * Unpacks what a reader of any kind of archive finds.
 *
 * @throws MillraceError as `unpack`, also `bad-archive` beyond the bounds; errors of the feed
 */
export async function unpackEntries(
  { feed, path, folder, stage: makeStage, overwrites, onPlace, ...bounds }: Unpackable,
  signal: AbortSignal,
): Promise<Unpacked> {
  try {
    if (!overwrites && (await isThere(folder)))
      throw new MillraceError('file-exists', { code: 'path', values: { path: folder } });
    const stage = await makeStage();
    try {
      const content = join(stage, 'content');
      await mkdir(content);
      const { files, folders, links, only } = await new Unpacking(content, bounds).run(feed);
      await syncFiles(
        files.map((file) => join(content, file)),
        signal,
      );
      const made = join(content, only);
      await onPlace?.(made);
      await place(made, folder, overwrites, signal);
      // The only folder of a tar has the name of the tar by now.
      const own = folders.map((path) => join(folder, path.slice(only.length)));
      await syncFolders([...own, folder, dirname(folder)], signal);
      const others = only === '' ? 1 : 0;
      return { folder, files: files.length + links, folders: folders.length + others };
    } finally {
      await rm(stage, { recursive: true, force: true });
    }
  } catch (error) {
    if (isMillraceError(error, 'malformed-response')) {
      throw new MillraceError(
        'bad-archive',
        { code: 'archive-not-read', values: { path } },
        { cause: error },
      );
    }
    throw fileError(error, folder);
  }
}

interface Contents {
  /** Paths below the root. */
  readonly files: readonly string[];
  readonly folders: readonly string[];
  /** Number of symbolic links. */
  readonly links: number;
  /** The folder that all the others are in, if no link leads out of it; else empty. */
  readonly only: string;
}

class Unpacking {
  readonly #root: string;
  readonly #maxBytes: number;
  readonly #maxMembers: number;
  readonly #isLocal: boolean;
  readonly #makesLinks: boolean;
  #bytes = 0;
  readonly #clashes: PathClashes;
  /** Times of folders, which change with what is put into them. */
  readonly #folders = new Map<string, number | undefined>();
  readonly #files = new Set<string>();
  /** Symbolic links with their targets: made last, so that no file is written through one. */
  readonly #links = new Map<string, string>();

  constructor(
    root: string,
    { maxBytes, maxMembers, local = false }: Pick<Unpackable, 'maxBytes' | 'maxMembers' | 'local'>,
  ) {
    this.#root = root;
    this.#maxBytes = maxBytes ?? Number.POSITIVE_INFINITY;
    this.#maxMembers = maxMembers ?? MAX_ARCHIVE_MEMBERS;
    this.#isLocal = local;
    this.#makesLinks = local && process.platform !== 'win32';
    // The disk itself says which names it takes for the same.
    this.#clashes = this.#makesLinks ? new PathClashes((path) => path) : new PathClashes();
  }

  async run(feed: Feed): Promise<Contents> {
    await feed((entry, content) => this.#take(entry, content));
    const found = { folders: this.#folders, links: this.#links };
    const only = await makeLinks(this.#root, this.#onlyFolder(), found);
    for (const [folder, mtimeMs] of this.#folders) {
      if (mtimeMs === undefined) continue;
      await utimes(join(this.#root, folder), mtimeMs / 1000, mtimeMs / 1000);
    }
    const [files, folders] = [[...this.#files], [...this.#folders.keys()]];
    return { files, folders, links: this.#links.size, only };
  }

  #onlyFolder(): string {
    const tops = new Set<string>();
    for (const paths of [this.#files, this.#links.keys(), this.#folders.keys()]) {
      for (const path of paths) tops.add(path.split('/', 1)[0] as string);
    }
    const [top = ''] = tops;
    return tops.size === 1 && this.#folders.has(top) ? top : '';
  }

  async #take(entry: TarEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
    const isFolder = entry.type === 'directory';
    const isLink = this.#makesLinks && (entry.type === 'symlink' || entry.type === 'link');
    if (!(isFolder || isLink) && entry.type !== 'file') {
      throw refused(entry, 'it is a link or a special file');
    }
    if (Object.keys(entry.pax).some((key) => key.startsWith('GNU.sparse.'))) {
      throw refused(entry, 'it is a file with holes');
    }
    this.#check(entry, entry.size);
    // The content of a folder or link is skipped, but its reading takes time.
    if (entry.type !== 'file') this.#count(entry, entry.size);
    // "tar -C FOLDER ." writes paths so.
    const path = plain(entry.name).replace(isFolder ? /\/$/ : /$^/, '');
    if (isFolder && (path === '' || path === '.')) return;
    const isWindows = process.platform === 'win32';
    const fault =
      (this.#isLocal ? localPathFault(path, isWindows) : pathFault(path, isWindows)) ??
      (isFolder ? this.#clashes.addFolder(path) : this.#clashes.addFile(path));
    if (fault !== undefined) throw refused(entry, fault);
    try {
      for (const above of foldersAbove(path)) await this.#makeFolder(above);
      await this.#make(entry, path, content);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw refused(entry, 'this disk takes its name for that of another');
    }
    if (this.#files.size + this.#links.size + this.#folders.size > this.#maxMembers) {
      throw refused(entry, `more than ${this.#maxMembers} files and folders are too many`);
    }
  }

  async #make(entry: TarEntry, path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { type, target = '' } = entry;
    const mtimeMs = timeOf(entry);
    if (type === 'directory') {
      await this.#makeFolder(path);
      this.#folders.set(path, mtimeMs);
    } else if (type === 'symlink') {
      this.#links.set(path, target);
    } else {
      if (type === 'link') await this.#linkFile(entry, path, plain(target));
      else await this.#write(entry, path, mtimeMs, content);
      this.#files.add(path);
    }
  }

  async #linkFile(entry: TarEntry, path: string, target: string): Promise<void> {
    if (!this.#files.has(target)) throw refused(entry, 'it is a link to no file before it');
    const copied = await linkFile(join(this.#root, target), join(this.#root, path));
    this.#count(entry, copied);
  }

  async #makeFolder(path: string): Promise<void> {
    if (this.#folders.has(path)) return;
    await mkdir(join(this.#root, path));
    this.#folders.set(path, undefined);
  }

  async #write(
    entry: TarEntry,
    path: string,
    mtimeMs: number,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const executable = (entry.mode & 0o100) !== 0;
    const file = await open(join(this.#root, path), 'wx', executable ? 0o777 : 0o666);
    try {
      for await (const piece of content) {
        this.#count(entry, piece.length);
        await file.writeFile(piece);
      }
      await file.utimes(mtimeMs / 1000, mtimeMs / 1000);
    } finally {
      await file.close();
    }
  }

  #count(entry: TarEntry, bytes: number): void {
    this.#check(entry, bytes);
    this.#bytes += bytes;
  }

  /** @throws MillraceError `bad-archive` if so many more bytes are too many */
  #check(entry: TarEntry, bytes: number): void {
    if (this.#bytes + bytes <= this.#maxBytes) return;
    throw refused(entry, `more than ${this.#maxBytes} bytes are too many`);
  }
}

function plain(path: string): string {
  return path.replace(/^(?:\.\/)+/, '');
}

/** Returns Unix milliseconds. The tar's own field cannot tell times before 1970. */
function timeOf({ mtimeMs, pax }: TarEntry): number {
  const seconds = Number(pax.mtime ?? Number.NaN);
  return Number.isFinite(seconds) && Math.abs(seconds) <= 2 ** 40 ? seconds * 1000 : mtimeMs;
}

/** Moves a folder to its place, or what is in it into a folder that exists. */
async function place(
  from: string,
  to: string,
  overwrites: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isThere(to))) return rename(from, to);
  if (!overwrites) throw new MillraceError('file-exists', { code: 'path', values: { path: to } });
  await checkFits(from, to);
  await merge(from, to, signal);
}

/** @throws MillraceError `file-exists` if a folder is in the place of a file, or the other way round */
async function checkFits(from: string, to: string): Promise<void> {
  const there = await lstat(to).catch(() => undefined);
  if (there === undefined) return;
  // A link is not followed: it may lead anywhere.
  if (!there.isDirectory())
    throw new MillraceError('file-exists', { code: 'not-folder', values: { path: to } });
  for (const item of await readdir(from, { withFileTypes: true })) {
    const own = join(to, item.name);
    if (item.isDirectory()) await checkFits(join(from, item.name), own);
    else if ((await lstat(own).catch(() => undefined))?.isDirectory() === true) {
      throw new MillraceError('file-exists', { code: 'is-folder', values: { path: own } });
    }
  }
}

async function merge(from: string, to: string, signal: AbortSignal): Promise<void> {
  for (const item of await readdir(from, { withFileTypes: true })) {
    if (signal.aborted) throw new MillraceError('interrupted');
    const [source, target] = [join(from, item.name), join(to, item.name)];
    if (item.isDirectory() && (await isThere(target))) await merge(source, target, signal);
    else await rename(source, target);
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

function refused({ name }: TarEntry, fault: string): MillraceError {
  return new MillraceError('bad-archive', `${JSON.stringify(name)}: ${fault}`);
}
