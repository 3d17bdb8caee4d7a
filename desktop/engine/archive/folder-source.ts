/**
 * Reads a folder as the tar that it would be, at any position, and never writes that tar. The same
 * folder gives the same bytes: an upload goes on after a kill, and several depots get the same.
 */

import { createHash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TarMember, tarHeader } from '@millrace/shared/archive/tar-header';
import { TarLayout } from '@millrace/shared/archive/tar-layout';
import { MillraceError } from '@millrace/shared/base/errors';
import { type FolderMembers, membersOf } from './folder-members.ts';
import type { FileState, UploadSource } from './upload-source.ts';

/** Files that stay open for the next read: depots that read together are at about the same place. */
const MAX_IDLE_FILES = 8;
/** Bytes of a digest that a number holds exactly. */
const STATE_BYTES = 6;

/** A file that is being read, or was lately. */
interface OpenFile {
  readonly handle: Promise<FileHandle>;
  users: number;
}

export class FolderSource implements UploadSource {
  readonly file = undefined;
  readonly state: FileState;
  readonly leftOut: number;
  readonly #folder: string;
  readonly #skipsLinks: boolean;
  readonly #signal: AbortSignal;
  readonly #layout: TarLayout;
  /** By path, the one that was used last at the end. */
  readonly #files = new Map<string, OpenFile>();

  private constructor(
    folder: string,
    { members, leftOut }: FolderMembers,
    skipsLinks: boolean,
    signal: AbortSignal,
  ) {
    this.#folder = folder;
    this.#skipsLinks = skipsLinks;
    this.#signal = signal;
    this.leftOut = leftOut;
    this.#layout = new TarLayout(members);
    this.state = { bytes: this.#layout.bytes, mtimeMs: stateNumber(members) };
  }

  /** Lists a folder. @throws MillraceError as `membersOf` */
  static async open(
    folder: string,
    skipsLinks: boolean,
    signal: AbortSignal,
  ): Promise<FolderSource> {
    const members = await membersOf(folder, skipsLinks, signal);
    return new FolderSource(folder, members, skipsLinks, signal);
  }

  async read(into: Buffer, position: number): Promise<number> {
    const end = Math.min(into.length, this.#layout.bytes - position);
    for (let at = 0; at < end; ) {
      const rest = into.subarray(at, end);
      const run = this.#layout.runAt(position + at);
      if (run.kind === 'header') {
        rest.set(run.bytes.subarray(0, rest.length));
        at += Math.min(rest.length, run.bytes.length);
      } else if (run.kind === 'zeros') {
        rest.subarray(0, run.bytes).fill(0);
        at += Math.min(rest.length, run.bytes);
      } else {
        at += await this.#readFile(run.member, rest.subarray(0, run.bytes), run.from);
      }
    }
    return end;
  }

  async check(): Promise<void> {
    const { members } = await membersOf(this.#folder, this.#skipsLinks, this.#signal).catch(
      (cause: unknown) => {
        this.#signal.throwIfAborted();
        throw new MillraceError('file-has-changed', (cause as Error).message, { cause });
      },
    );
    if (stateNumber(members) === this.state.mtimeMs) return;
    throw new MillraceError('file-has-changed', firstChange(this.#layout.members, members));
  }

  async close(): Promise<void> {
    const open = [...this.#files.values()];
    this.#files.clear();
    for (const { handle } of open) await handle.then((file) => file.close()).catch(() => {});
  }

  async #readFile(member: TarMember, into: Buffer, from: number): Promise<number> {
    const known = this.#files.get(member.path);
    const file = known ?? { handle: this.#open(member), users: 0 };
    this.#files.delete(member.path);
    this.#files.set(member.path, file);
    file.users++;
    try {
      const { bytesRead } = await (await file.handle).read(into, 0, into.length, from);
      if (bytesRead === 0) throw changed(member.path);
      return bytesRead;
    } catch (error) {
      // A later read tries again to open the file.
      if (this.#files.get(member.path) === file) this.#files.delete(member.path);
      void file.handle.then((handle) => handle.close()).catch(() => {});
      throw error;
    } finally {
      file.users--;
      await this.#closeIdle();
    }
  }

  async #open({ path, bytes, mtimeMs }: TarMember): Promise<FileHandle> {
    // A file that has become a link or a pipe meanwhile is neither followed nor waited for.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const full = join(dirname(this.#folder), path);
    const file = await open(full, flags).catch((cause: NodeJS.ErrnoException) => {
      const isOther = cause.code === 'ENOENT' || cause.code === 'ELOOP' || cause.code === 'ENOTDIR';
      const detail = `${path} cannot be read`;
      throw new MillraceError(isOther ? 'file-has-changed' : 'bad-option', detail, { cause });
    });
    const now = await file.stat();
    if (now.isFile() && now.size === bytes && now.mtimeMs === mtimeMs) return file;
    await file.close();
    throw changed(path);
  }

  async #closeIdle(): Promise<void> {
    for (const [path, { handle, users }] of this.#files) {
      if (this.#files.size <= MAX_IDLE_FILES) return;
      if (users > 0) continue;
      this.#files.delete(path);
      await handle.then((file) => file.close());
    }
  }
}

/** Makes a number of the headers and times of all members. */
function stateNumber(members: readonly TarMember[]): number {
  const hash = createHash('sha256');
  for (const member of members) hash.update(tarHeader(member)).update(`${member.mtimeMs}\n`);
  return hash.digest().readUIntBE(0, STATE_BYTES);
}

/** Names the first member that differs. */
function firstChange(before: readonly TarMember[], now: readonly TarMember[]): string {
  const at = before.findIndex(
    (member, i) => stateNumber([member]) !== stateNumber(now.slice(i, i + 1)),
  );
  return (before[at] ?? now[before.length])?.path ?? '';
}

function changed(path: string): MillraceError {
  return new MillraceError('file-has-changed', { code: 'path', values: { path } });
}
