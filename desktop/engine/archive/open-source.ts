/** Opens what is to be uploaded. */

import { stat } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import { openPlain } from '../files/open-plain.ts';
import { FolderSource } from './folder-source.ts';
import type { UploadSource } from './upload-source.ts';

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
      if (bytesRead === 0) throw new MillraceError('file-has-changed', { code: 'become-shorter' });
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
