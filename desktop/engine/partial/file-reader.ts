/** Reads a file while it is being downloaded: waits for bytes that are not there yet. */

import { open } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { PartialFile } from './partial-file.ts';

export class FileReader {
  #file: PartialFile | undefined;
  #path: string | undefined;
  #failure: MillraceError | undefined;
  #waiting: (() => void)[] = [];
  #generation = 0;

  /** How often the file has turned out to be another one: bytes read before are not of this one. */
  get generation(): number {
    return this.#generation;
  }

  /** The file is fetched from the beginning: no more is read of the earlier one. */
  restart(): void {
    this.#generation++;
    this.#file = undefined;
    this.wake();
  }

  /** The partial file is there. */
  begin(file: PartialFile): void {
    // Length and name may be others from here on only.
    if (this.#generation > 0) this.#generation++;
    this.#file = file;
    this.wake();
  }

  /** The file is complete and has its name. */
  finished(path: string): void {
    this.#path = path;
    this.#file = undefined;
    this.wake();
  }

  /** The download has ended without the file. */
  fail(error: MillraceError): void {
    this.#failure = error;
    this.#file = undefined;
    this.wake();
  }

  /** More has been stored. */
  wake(): void {
    if (this.#waiting.length === 0) return;
    for (const go of this.#waiting.splice(0)) go();
  }

  /**
   * Reads the bytes at a position, waiting until there is at least one.
   *
   * @returns how many bytes; 0 at the end of the file
   * @throws the download's final error; the signal's reason
   */
  async read(into: Buffer, position: number, signal: AbortSignal): Promise<number> {
    const generation = this.#generation;
    const check = () => {
      if (generation !== this.#generation) throw new MillraceError('version-changed');
    };
    for (;;) {
      signal.throwIfAborted();
      check();
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#path !== undefined) return readOnce(this.#path, into, position);
      const count = await this.#readPartial(into, position);
      check();
      if (count !== undefined) return count;
      await this.#change(signal);
    }
  }

  async #readPartial(into: Buffer, position: number): Promise<number | undefined> {
    const file = this.#file;
    if (file === undefined) return undefined;
    if (file.length !== undefined && position >= file.length) return 0;
    const end = position + into.length;
    const stored = file.stored.missing({ start: position, end })[0]?.start ?? end;
    if (stored === position) return undefined;
    return file.read(into.subarray(0, stored - position), position);
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        signal.removeEventListener('abort', go);
        resolve();
      };
      this.#waiting.push(go);
      signal.addEventListener('abort', go, { once: true });
    });
  }
}

async function readOnce(path: string, into: Buffer, position: number): Promise<number> {
  const handle = await open(path, 'r');
  try {
    return (await handle.read(into, 0, into.length, position)).bytesRead;
  } finally {
    await handle.close();
  }
}
