/** Keeps the engine's files in the origin private file system, which only the extension can use. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { EngineFiles } from './files.ts';
import { Partial, type SyncFile } from './opfs-store.ts';

const FOLDER = 'downloads';
/** Most tries to open a file: an ended worker holds its files for a moment longer. */
const TRIES = 20;
const AGAIN_MS = 100;

/** A file handle in workers; TypeScript has one set of types for all of the extension. */
interface SyncFileHandle extends FileSystemFileHandle {
  createSyncAccessHandle(): Promise<SyncFile>;
}

export class OpfsFiles implements EngineFiles {
  readonly #folder: FileSystemDirectoryHandle;

  private constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder;
  }

  static async open(): Promise<OpfsFiles> {
    const root = await navigator.storage.getDirectory();
    return new OpfsFiles(await root.getDirectoryHandle(FOLDER, { create: true }));
  }

  async open(id: string, header: Parameters<EngineFiles['open']>[1]): Promise<Partial> {
    const data = await this.#openSync(`${id}.data`);
    let journal: SyncFile | undefined;
    try {
      journal = await this.#openSync(`${id}.journal`);
      return await Partial.open(data, journal, header);
    } catch (error) {
      data.close();
      journal?.close();
      throw error;
    }
  }

  async url(id: string, length: number): Promise<string> {
    const handle = await this.#folder.getFileHandle(`${id}.data`);
    const file = await handle.getFile();
    if (file.size !== length) {
      throw new MillraceError('file-changed', {
        code: 'other-length',
        values: { hasBytes: file.size, wantedBytes: length },
      });
    }
    // Without a type the browser would guess one, and change the file's extension to match.
    return URL.createObjectURL(file.slice(0, length, 'application/octet-stream'));
  }

  revoke(url: string): void {
    URL.revokeObjectURL(url);
  }

  async remove(id: string): Promise<void> {
    for (const name of [`${id}.data`, `${id}.journal`]) {
      await this.#folder.removeEntry(name).catch((error: DOMException) => {
        if (error.name !== 'NotFoundError') throw asStorageError(error);
      });
    }
  }

  async ids(): Promise<string[]> {
    const ids = new Set<string>();
    for await (const name of this.#folder.keys()) ids.add(name.replace(/\.[a-z]+$/, ''));
    return [...ids];
  }

  async #openSync(name: string): Promise<SyncFile> {
    for (let tries = 1; ; tries++) {
      try {
        const handle = await this.#folder.getFileHandle(name, { create: true });
        return await (handle as SyncFileHandle).createSyncAccessHandle();
      } catch (error) {
        const taken = (error as DOMException).name === 'NoModificationAllowedError';
        if (!taken || tries === TRIES) throw asStorageError(error as DOMException);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }
}

function asStorageError(cause: DOMException): MillraceError {
  const full = cause.name === 'QuotaExceededError';
  return new MillraceError(full ? 'disk-full' : 'file-not-writable', cause.message, { cause });
}
