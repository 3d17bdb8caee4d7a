/** Lists a folder that is sent as a tar. Follows no link. */

import type { Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { TarMember } from '@millrace/shared/archive/tar-header';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_ARCHIVE_MEMBERS, MAX_SYNC_PATH_BYTES } from '@millrace/shared/base/limits';

const LOOKS_AT_A_TIME = 64;

export interface FolderMembers {
  /** Sorted by path: a folder stands before what is in it. The first one is the folder itself. */
  readonly members: readonly TarMember[];
  /** Number of links and special files that are left out. */
  readonly leftOut: number;
}

/**
 * Lists a folder and all that is in it, under the folder's own name.
 *
 * @param folder absolute
 * @param skipsLinks true to leave out links and special files; false to refuse the folder
 * @throws MillraceError `bad-option` if a member is a link or a special file, or cannot be read, or
 *   there are too many; the signal's reason
 */
export async function membersOf(
  folder: string,
  skipsLinks: boolean,
  signal: AbortSignal,
): Promise<FolderMembers> {
  const top = basename(folder);
  if (top === '')
    throw new MillraceError('bad-option', `${folder} has no name: send a folder in it`);
  // The user may name the folder by a link.
  const members = [member(top, await stat(folder))];
  const unfit: string[] = [];
  // Grows while folders are found.
  const queue = [''];
  for (const inside of queue) {
    signal.throwIfAborted();
    const items = await list(join(folder, inside));
    for (let at = 0; at < items.length; at += LOOKS_AT_A_TIME) {
      const group = items.slice(at, at + LOOKS_AT_A_TIME);
      const found = await Promise.all(
        group.map(async (name) => {
          const path = inside === '' ? name : `${inside}/${name}`;
          return [path, await look(join(folder, path))] as const;
        }),
      );
      for (const [path, status] of found) {
        const own = `${top}/${path}`;
        if (status.isDirectory()) queue.push(path);
        else if (!status.isFile()) unfit.push(own);
        if (status.isDirectory() || status.isFile()) members.push(member(own, status));
      }
    }
    if (members.length > MAX_ARCHIVE_MEMBERS) {
      const detail = `${folder} has more than ${MAX_ARCHIVE_MEMBERS} files and folders`;
      throw new MillraceError('bad-option', detail);
    }
  }
  if (unfit.length > 0 && !skipsLinks) {
    const [first] = unfit.sort(byCode) as [string];
    const more = unfit.length === 1 ? '' : `, and ${unfit.length - 1} more are as well`;
    const detail = `${first} is a link or a special file${more}: --skip-links leaves them out`;
    throw new MillraceError('bad-option', detail);
  }
  members.sort((a, b) => byCode(sortKey(a), sortKey(b)));
  return { members, leftOut: unfit.length };
}

/** The order of a folder's members must not depend on the language of the system. */
function byCode(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortKey({ path, kind }: TarMember): string {
  return kind === 'folder' ? `${path}/` : path;
}

function member(path: string, status: Stats): TarMember {
  if (Buffer.byteLength(path) > MAX_SYNC_PATH_BYTES) {
    const detail = `${path} is longer than ${MAX_SYNC_PATH_BYTES} bytes`;
    throw new MillraceError('bad-option', detail);
  }
  const isFolder = status.isDirectory();
  return {
    path,
    kind: isFolder ? 'folder' : 'file',
    bytes: isFolder ? 0 : status.size,
    mtimeMs: status.mtimeMs,
    executable: (status.mode & 0o100) !== 0,
  };
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch((cause: unknown) => {
    throw new MillraceError('bad-option', `${folder} cannot be looked into`, { cause });
  });
}

async function look(path: string): Promise<Stats> {
  return lstat(path).catch((cause: unknown) => {
    // A name that is no Unicode text is read with a sign in place of what is wrong.
    const why = path.includes('\ufffd') ? 'has a name that is no Unicode text' : 'cannot be read';
    throw new MillraceError('bad-option', `${path} ${why}`, { cause });
  });
}
