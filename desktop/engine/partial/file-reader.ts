/** Reads a file during its download, and waits for bytes that have not arrived yet. */

import { open } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { PartialFile } from './partial-file.ts';

export class FileReader {
  #file: PartialFile | undefined;
  #path: string | undefined;
  #failure: MillraceError | undefined;
  #waiting: (() => void)[] = [];
  #generation = 0;

  /**
   * Increases whenever the file is replaced by another: bytes read before then belong to the
   * earlier file.
   */
  get generation(): number {
    return this.#generation;
  }

  /** Notes that the download starts over: the earlier file is not read any more. */
  restart(): void {
    this.#generation++;
    this.#file = undefined;
    this.wake();
  }

  /** Notes that the partial file exists. */
  begin(file: PartialFile): void {
    // From here on the length and the name may differ from the earlier ones.
    if (this.#generation > 0) this.#generation++;
    this.#file = file;
    this.wake();
  }

  /** Notes that the file is complete and has its final name. */
  finished(path: string): void {
    this.#path = path;
    this.#file = undefined;
    this.wake();
  }

  /** Notes that the download ended without the file. */
  fail(error: MillraceError): void {
    this.#failure = error;
    this.#file = undefined;
    this.wake();
  }

  /** Wakes waiting readers: more bytes are stored. */
  wake(): void {
    if (this.#waiting.length === 0) return;
    for (const go of this.#waiting.splice(0)) go();
  }

  /**
   * Reads the bytes at a position, and waits until there is at least one.
   *
   * @returns number of bytes read; 0 at the end of the file
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
