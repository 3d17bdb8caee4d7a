/** Makes the manifest of a folder, from which others can copy the folder (WORLDS 4.2). */

import { createHash } from 'node:crypto';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_MANIFEST_BYTES, MAX_MANIFEST_FILES } from '@millrace/shared/base/limits';
import { formatManifest, type Manifest, type SyncFile } from '@millrace/shared/sync/manifest';
import { SCRIPT_NAME, STAGING } from '@millrace/shared/sync/sync-path';
import { fileError } from '../files/file-error.ts';
import { PART, writeArchive } from './archive.ts';
import { describeFile } from './describe-file.ts';
import { inParallel } from './in-parallel.ts';

export const MANIFEST_NAME = 'millrace-sync.json';
const ARCHIVE_NAME = 'millrace-sync.tar';

export interface PublishOptions {
  /** The folder. */
  readonly dir: string;
  /** URL at which the folder is served, with a final slash. */
  readonly url: string;
  /** Path at which to write the manifest. */
  readonly output: string;
  /** Also write an archive of all files into the folder. */
  readonly archive: boolean;
  /** Other files that are not to be published. */
  readonly except: readonly string[];
  readonly signal: AbortSignal;
}

export interface Published {
  readonly manifest: Manifest;
  /** Path of the manifest. */
  readonly path: string;
  /** SHA-256 of the manifest, hexadecimal. */
  readonly sha256: string;
  /** Entries of the folder that cannot be published: links, devices. */
  readonly leftOut: readonly string[];
}

const READ_AT_A_TIME = 4;

/**
 * Reads the folder and writes its manifest, and the archive if one is wanted.
 *
 * @throws MillraceError `bad-option` if an entry cannot be read; `bad-manifest` for names that are
 *   not possible on every system; `file-changed`, `file-not-writable`, `interrupted`
 */
export async function publish(options: PublishOptions): Promise<Published> {
  const { dir, url, output, signal } = options;
  const made = [
    output,
    join(dir, MANIFEST_NAME),
    join(dir, ARCHIVE_NAME),
    join(dir, SCRIPT_NAME),
    ...options.except,
  ];
  // Files that a killed run left behind are not published either.
  const own = new Set(
    [...made, ...made.map((path) => path + PART)].map((path) =>
      relative(dir, resolve(path)).replaceAll(sep, '/'),
    ),
  );
  const { files: paths, folders, leftOut } = await list(dir, own);
  if (paths.length > MAX_MANIFEST_FILES) {
    throw new MillraceError('bad-manifest', `${paths.length} files, at most ${MAX_MANIFEST_FILES}`);
  }
  const files: SyncFile[] = [];
  await inParallel(paths, { atATime: READ_AT_A_TIME }, async (path) => {
    const { mode, ...rest } = await describeFile(join(dir, path), signal);
    files.push({ path, ...rest, mode: (mode & 0o777).toString(8).padStart(3, '0') });
  });
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  let manifest: Manifest = { url, folders, files };
  // Check the names before the archive is made.
  formatManifest(manifest);
  if (options.archive) {
    await writeArchive(dir, files, join(dir, ARCHIVE_NAME), signal);
    const { size, sha256, pieces } = await describeFile(join(dir, ARCHIVE_NAME), signal);
    manifest = { ...manifest, archive: { path: ARCHIVE_NAME, size, sha256, pieces } };
  }
  const text = formatManifest(manifest);
  if (Buffer.byteLength(text) > MAX_MANIFEST_BYTES) {
    throw new MillraceError('bad-manifest', 'it would be too large: publish parts of the folder');
  }
  await replace(output, text);
  return {
    manifest,
    path: output,
    sha256: createHash('sha256').update(text).digest('hex'),
    leftOut,
  };
}

/** Writes a file that appears only once it is complete. */
export async function replace(path: string, text: string, mode = 0o666): Promise<void> {
  const part = path + PART;
  try {
    await rm(part, { force: true });
    await writeFile(part, text, { mode, flag: 'wx' });
    await rename(part, path);
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Lists a folder: files, empty folders, and entries that are neither file nor folder. */
async function list(
  dir: string,
  own: ReadonlySet<string>,
): Promise<{ files: string[]; folders: string[]; leftOut: string[] }> {
  const files: string[] = [];
  const folders: string[] = [];
  const leftOut: string[] = [];
  for (const queue = ['']; queue.length > 0; ) {
    const folder = queue.pop() as string;
    const items = await readdir(join(dir, folder), { withFileTypes: true }).catch((cause) => {
      throw new MillraceError('bad-option', `${join(dir, folder)} cannot be read`, { cause });
    });
    if (items.length === 0 && folder !== '') folders.push(folder);
    for (const item of items) {
      const path = folder === '' ? item.name : `${folder}/${item.name}`;
      if (path === STAGING || own.has(path)) continue;
      if (item.isDirectory()) queue.push(path);
      else if (item.isFile()) files.push(path);
      else leftOut.push(path);
    }
  }
  return { files: files.sort(), folders: folders.sort(), leftOut: leftOut.sort() };
}
