/** Lists the part of a folder that matters to a manifest. Never follows links. */

import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Manifest } from '@millrace/shared/sync/manifest';
import { foldersOf, type LocalEntry, needsDigest } from '@millrace/shared/sync/plan';
import { STAGING } from '@millrace/shared/sync/sync-path';
import { digestOf } from './describe-file.ts';
import { inParallel } from './in-parallel.ts';

const LOOKS_AT_A_TIME = 32;
const HASHED_AT_A_TIME = 4;

export interface SurveyOptions {
  /** Also look into folders that the manifest does not name. */
  readonly whole: boolean;
  readonly signal: AbortSignal;
}

/**
 * Lists the folder, and hashes files that may match the manifest.
 *
 * @returns the entries by path; none for a missing folder
 * @throws MillraceError `file-not-writable` if an entry cannot be read; `interrupted`
 */
export async function survey(
  root: string,
  manifest: Manifest,
  { whole, signal }: SurveyOptions,
): Promise<Map<string, LocalEntry>> {
  const entries = new Map<string, LocalEntry>();
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const folders = foldersOf(manifest);
  const device = await lstat(root).then(
    ({ dev }) => dev,
    () => undefined,
  );
  if (device === undefined) return entries;
  const found: string[] = [];
  for (const queue = ['']; queue.length > 0; ) {
    if (signal.aborted) throw new MillraceError('interrupted');
    const folder = queue.pop() as string;
    for (const item of await list(join(root, folder))) {
      const path = folder === '' ? item.name : `${folder}/${item.name}`;
      if (path === STAGING) continue;
      if (item.isDirectory()) {
        entries.set(path, { kind: 'folder' });
        if (!whole && !folders.has(path)) continue;
        // A file system that is mounted here does not belong to the folder.
        if ((await lstat(join(root, path))).dev === device) queue.push(path);
      } else if (item.isSymbolicLink()) entries.set(path, { kind: 'link' });
      else if (!item.isFile()) entries.set(path, { kind: 'special' });
      else found.push(path);
    }
  }
  await inParallel(found, { atATime: LOOKS_AT_A_TIME }, async (path) => {
    const status = await lstat(join(root, path)).catch(() => undefined);
    if (status === undefined) return;
    const { size, mode, mtimeMs } = status;
    const executable = (mode & 0o100) !== 0;
    entries.set(path, { kind: 'file', size, executable, modified: Math.round(mtimeMs) });
  });
  const unclear = found.filter((path) => {
    const file = files.get(path);
    return file !== undefined && needsDigest(file, entries.get(path));
  });
  await inParallel(unclear, { atATime: HASHED_AT_A_TIME }, async (path) => {
    const entry = entries.get(path);
    if (entry?.kind !== 'file') return;
    const sha256 = await digestOf(join(root, path), entry.size, signal);
    entries.set(path, { ...entry, sha256 });
  });
  return entries;
}

async function list(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new MillraceError('file-not-writable', `${folder} cannot be looked into`, { cause });
  }
}
