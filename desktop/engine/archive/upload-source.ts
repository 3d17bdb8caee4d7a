/** What an upload reads: a file, or a folder as a tar. Any range can be read, as often as needed. */

import { stat } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import { openPlain } from '../files/open-plain.ts';
import { FolderSource } from './folder-source.ts';

/** State of a file, as far as the system tells it: another one means another file. */
export interface FileState {
  readonly bytes: number;
  /**
   * Time of the last change, Unix milliseconds. Of a folder a number that stands for names, lengths and
   * times of all its members.
   */
  readonly mtimeMs: number;
}

export interface UploadSource {
  /** State in which it was opened. All bytes that are read are those of this state. */
  readonly state: FileState;
  /** The file that has the bytes; undefined if none has them all. */
  readonly file: string | undefined;
  /** Number of links and special files of a folder that are left out. */
  readonly leftOut: number;
  /**
   * Reads from a position below the length.
   *
   * @returns number of bytes, at least 1
   * @throws MillraceError `file-has-changed`; Error of the file system
   */
  read(into: Buffer, position: number): Promise<number>;
  /** @throws MillraceError `file-has-changed` if the state is another one now */
  check(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a file or a folder.
 *
 * @param path absolute
 * @param skipsLinks true to leave out links and special files of a folder; false to refuse them
 * @throws MillraceError `bad-option` if it cannot be read, or is neither, or a folder that cannot be
 *   sent; the signal's reason
 */
export async function openSource(
  path: string,
  signal: AbortSignal,
  skipsLinks = false,
): Promise<UploadSource> {
  const isFolder = await stat(path).then(
    (status) => status.isDirectory(),
    () => false,
  );
  return isFolder ? FolderSource.open(path, skipsLinks, signal) : openFile(path);
}

/** Fills the buffer. @throws as `read` */
export async function fill(source: UploadSource, into: Buffer, position: number): Promise<void> {
  for (let at = 0; at < into.length; ) at += await source.read(into.subarray(at), position + at);
}

async function openFile(path: string): Promise<UploadSource> {
  const file = await openPlain(path);
  const stateNow = async () => {
    const { size: bytes, mtimeMs } = await file.stat();
    return { bytes, mtimeMs };
  };
  const state = await stateNow();
  return {
    ...{ state, file: path, leftOut: 0 },
    async read(into, position) {
      const { bytesRead } = await file.read(into, 0, into.length, position);
      if (bytesRead === 0) throw new MillraceError('file-has-changed', 'it has become shorter');
      return bytesRead;
    },
    async check() {
      const { bytes, mtimeMs } = await stateNow();
      if (bytes !== state.bytes || mtimeMs !== state.mtimeMs) {
        throw new MillraceError('file-has-changed');
      }
    },
    close: () => file.close(),
  };
}
