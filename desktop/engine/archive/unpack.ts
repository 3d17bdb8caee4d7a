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
import { foldersAbove, PathClashes, pathFault } from '@millrace/shared/sync/sync-path';
import { fileError } from '../files/file-error.ts';
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
    throw new MillraceError('bad-archive', `${path} is not called NAME.tar`);
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
  /** Most bytes of all files together; default: no bound. */
  readonly maxBytes?: number;
  /** Most files and folders; default: `MAX_ARCHIVE_MEMBERS`. */
  readonly maxMembers?: number;
}

/**
 * Unpacks what a reader of any kind of archive finds.
 *
 * @throws MillraceError as `unpack`, also `bad-archive` beyond the bounds; errors of the feed
 */
export async function unpackEntries(
  { feed, path, folder, stage: makeStage, overwrites, ...bounds }: Unpackable,
  signal: AbortSignal,
): Promise<Unpacked> {
  try {
    if (!overwrites && (await isThere(folder))) throw new MillraceError('file-exists', folder);
    const stage = await makeStage();
    try {
      const content = join(stage, 'content');
      await mkdir(content);
      const { files, folders } = await new Unpacking(content, bounds).run(feed);
      await syncFiles(
        files.map((file) => join(content, file)),
        signal,
      );
      const [only, ...others] = await readdir(content, { withFileTypes: true });
      const isOne = only?.isDirectory() === true && others.length === 0;
      const from = isOne ? join(content, only.name) : content;
      await place(from, folder, overwrites, signal);
      // The only folder of a tar has the name of the tar by now.
      const made = folders.map((path) => (isOne ? path.slice(only.name.length) : path));
      const own = made.map((path) => join(folder, path));
      await syncFolders([...own, folder, dirname(folder)], signal);
      return { folder, files: files.length, folders: isOne ? folders.length : folders.length + 1 };
    } finally {
      await rm(stage, { recursive: true, force: true });
    }
  } catch (error) {
    if (isMillraceError(error, 'malformed-response')) {
      throw new MillraceError('bad-archive', `${path} is damaged, or no archive`, { cause: error });
    }
    throw fileError(error, folder);
  }
}

class Unpacking {
  readonly #root: string;
  readonly #maxBytes: number;
  readonly #maxMembers: number;
  #bytes = 0;
  readonly #clashes = new PathClashes();
  /** Times of folders, which change with what is put into them. */
  readonly #folders = new Map<string, number | undefined>();
  readonly #files: string[] = [];

  constructor(root: string, { maxBytes, maxMembers }: Pick<Unpackable, 'maxBytes' | 'maxMembers'>) {
    this.#root = root;
    this.#maxBytes = maxBytes ?? Number.POSITIVE_INFINITY;
    this.#maxMembers = maxMembers ?? MAX_ARCHIVE_MEMBERS;
  }

  /** @returns paths below the root */
  async run(feed: Feed): Promise<{ readonly files: string[]; readonly folders: string[] }> {
    await feed((entry, content) => this.#take(entry, content));
    for (const [folder, mtimeMs] of this.#folders) {
      if (mtimeMs === undefined) continue;
      await utimes(join(this.#root, folder), mtimeMs / 1000, mtimeMs / 1000);
    }
    return { files: this.#files, folders: [...this.#folders.keys()] };
  }

  async #take(entry: TarEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
    const isFolder = entry.type === 'directory';
    if (!isFolder && entry.type !== 'file') throw refused(entry, 'it is a link or a special file');
    if (Object.keys(entry.pax).some((key) => key.startsWith('GNU.sparse.'))) {
      throw refused(entry, 'it is a file with holes');
    }
    // "tar -C FOLDER ." writes paths so.
    const path = entry.name.replace(/^(?:\.\/)+/, '').replace(isFolder ? /\/$/ : /$^/, '');
    if (isFolder && (path === '' || path === '.')) return;
    const fault =
      pathFault(path, process.platform === 'win32') ??
      (isFolder ? this.#clashes.addFolder(path) : this.#clashes.addFile(path));
    if (fault !== undefined) throw refused(entry, fault);
    for (const above of foldersAbove(path)) await this.#makeFolder(above);
    const mtimeMs = timeOf(entry);
    if (isFolder) {
      await this.#makeFolder(path);
      this.#folders.set(path, mtimeMs);
    } else {
      await this.#write(entry, path, mtimeMs, content);
      this.#files.push(path);
    }
    if (this.#files.length + this.#folders.size > this.#maxMembers) {
      throw refused(entry, `more than ${this.#maxMembers} files and folders are too many`);
    }
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
        this.#bytes += piece.length;
        if (this.#bytes > this.#maxBytes) {
          throw refused(entry, `more than ${this.#maxBytes} bytes are too many`);
        }
        await file.writeFile(piece);
      }
      await file.utimes(mtimeMs / 1000, mtimeMs / 1000);
    } finally {
      await file.close();
    }
  }
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
  if (!overwrites) throw new MillraceError('file-exists', to);
  await checkFits(from, to);
  await merge(from, to, signal);
}

/** @throws MillraceError `file-exists` if a folder is in the place of a file, or the other way round */
async function checkFits(from: string, to: string): Promise<void> {
  const there = await lstat(to).catch(() => undefined);
  if (there === undefined) return;
  // A link is not followed: it may lead anywhere.
  if (!there.isDirectory()) throw new MillraceError('file-exists', `${to} is not a folder`);
  for (const item of await readdir(from, { withFileTypes: true })) {
    const own = join(to, item.name);
    if (item.isDirectory()) await checkFits(join(from, item.name), own);
    else if ((await lstat(own).catch(() => undefined))?.isDirectory() === true) {
      throw new MillraceError('file-exists', `${own} is a folder`);
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
