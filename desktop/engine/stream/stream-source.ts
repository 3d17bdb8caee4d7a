/** Reads the bytes of a download while it runs, and from its file once it is complete. */

import { type FileHandle, open } from 'node:fs/promises';
import { isMillraceError } from '@millrace/shared/base/errors';

/** The part of a `Download` that streaming needs. */
export interface StreamedDownload {
  /** Resolves once path and length are known. */
  readonly described: Promise<{
    readonly path: string;
    readonly length: number | undefined;
    readonly contentType: string | undefined;
  }>;
  /** Number that changes when `read` begins to return bytes of another version of the file. */
  readonly generation?: number;
  /** Current path and length of the download. */
  progress?(): { readonly path?: string | undefined; readonly length?: number | undefined };
  /** Reads stored bytes, waiting for the first of them. Resolves with 0 at the end of the file. */
  read(into: Buffer, position: number, signal: AbortSignal): Promise<number>;
  /** Makes the download fetch first from this position on; undefined ends that. */
  prefer(position: number | undefined): void;
}

export class StreamSource {
  readonly #download: StreamedDownload;
  readonly #finished: Promise<{ readonly path: string }>;
  #complete: Promise<FileHandle> | undefined;
  #closed = false;

  /** @param finished result of the download's run */
  constructor(download: StreamedDownload, finished: Promise<{ readonly path: string }>) {
    this.#download = download;
    this.#finished = finished;
    finished.then(({ path }) => this.#openComplete(path)).catch(() => {});
  }

  /**
   * Reads bytes from `position` on, waiting until at least one has arrived.
   *
   * @returns the number of bytes; 0 at the end of the file
   * @throws the download's error, or the signal's reason
   */
  async read(into: Buffer, position: number, signal: AbortSignal): Promise<number> {
    if (this.#complete === undefined) {
      try {
        return await this.#download.read(into, position, signal);
      } catch (error) {
        if (signal.aborted || isMillraceError(error, 'version-changed')) throw error;
        // The download may have ended during the read, and its complete file has the bytes.
        const { path } = await this.#finished;
        this.#openComplete(path);
      }
    }
    const handle = (await this.#complete) as FileHandle;
    signal.throwIfAborted();
    return (await handle.read(into, 0, into.length, position)).bytesRead;
  }

  /** Releases the file. No read may be under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#complete?.then((handle) => handle.close()).catch(() => {});
  }

  /** Opens the complete file once and early, because it may be moved while it is played. */
  #openComplete(path: string): void {
    if (this.#complete !== undefined || this.#closed) return;
    this.#complete = open(path, 'r');
    this.#complete.catch(() => {}); // reported to the readers
  }
}
