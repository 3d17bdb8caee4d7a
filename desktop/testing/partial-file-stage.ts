/** A folder for tests of partial files, and the files opened in it. */

import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import type { Validators } from '@millrace/shared/http/fields/validators';
import { DATA_SUFFIX, JOURNAL_SUFFIX } from '../engine/files/partial-names.ts';
import { PartialFile, type PartialFileOptions } from '../engine/partial/partial-file.ts';

export const CONTENT = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 31) & 0xff));
const VERSION: Validators = { etag: '"a"' };

export type Part = Partial<PartialFileOptions> & {
  validators?: Validators;
  length?: number | undefined;
};

export class PartialFileStage {
  dir = '';
  readonly #open: PartialFile[] = [];

  /** Returns a stage for the tests of a file: each test finds the folder empty. */
  static forEachTest(): PartialFileStage {
    const stage = new PartialFileStage();
    beforeEach(() => stage.#set());
    afterEach(() => stage.#clear());
    return stage;
  }

  /** Path of the complete file; the partial file is beside it. */
  get path(): string {
    return join(this.dir, 'file.iso');
  }

  get dataPath(): string {
    return this.path + DATA_SUFFIX;
  }

  get journalPath(): string {
    return this.path + JOURNAL_SUFFIX;
  }

  async #set(): Promise<void> {
    this.dir = await mkdtemp(join(tmpdir(), 'millrace-'));
  }

  async #clear(): Promise<void> {
    for (const file of this.#open.splice(0)) await file.close();
    await rm(this.dir, { recursive: true });
  }

  async start(part: Part = {}): Promise<PartialFile> {
    const { validators = VERSION, ...options } = part;
    const length = 'length' in part ? part.length : CONTENT.length;
    const header = { url: 'https://example.com/f', length, validators };
    const file = await PartialFile.open({ path: this.path, overwrite: false, header, ...options });
    this.#open.push(file);
    return file;
  }

  /** Closes a file as the end of the process would, once everything is on disk. */
  async end(file: PartialFile): Promise<void> {
    await file.close();
    this.#open.splice(this.#open.indexOf(file), 1);
  }

  async names(): Promise<string[]> {
    return (await readdir(this.dir)).sort();
  }

  /**
   * Copies the files that a crash at this moment would leave. @returns the path of the copy's file
   */
  async crash(): Promise<string> {
    const path = join(this.dir, 'crashed');
    await cp(this.dataPath, path + DATA_SUFFIX);
    await cp(this.journalPath, path + JOURNAL_SUFFIX);
    return path;
  }

  /** Stores and flushes parts of the content, one after the other. */
  async store(file: PartialFile, ...ranges: [number, number][]): Promise<void> {
    for (const [from, to] of ranges) {
      await file.store(from, CONTENT.subarray(from, to));
      await file.flush();
    }
  }

  /** Finishes a file whose bytes are all stored, and expects the content under its final name. */
  async completes(file: PartialFile): Promise<void> {
    await file.finish(CONTENT.length);
    await file.settle(true);
    expect((await readFile(this.path)).equals(CONTENT)).toBe(true);
  }

  /** Returns the stored bytes, as pairs of positions. */
  stored(file: PartialFile): number[][] {
    return file.stored.ranges.map(({ start, end }) => [start, end]);
  }
}
