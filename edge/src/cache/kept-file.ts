/** A small list on disk, beside the cache: rewritten as a whole with each change. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@millrace/shared/base/log';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import { readOrThrow } from '@millrace/shared/schema/read';
import type * as z from 'zod';

export interface KeptFileOptions<S extends z.ZodType> {
  readonly dir: string;
  /** Name of the file in the folder. */
  readonly name: string;
  readonly schema: S;
  readonly log: Log;
}

/** Parses the text of a kept file. @throws if it is damaged */
export function parseKept<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  return readOrThrow(schema, JSON.parse(text));
}

export class KeptFile<S extends z.ZodType> {
  readonly #options: KeptFileOptions<S>;
  #turn: Promise<void> = Promise.resolve();
  /** A write that has not begun: it will contain changes made until then. */
  #next: Promise<void> | undefined;

  constructor(options: KeptFileOptions<S>) {
    this.#options = options;
  }

  /**
   * Reads the state that an earlier run has left; undefined if the file is missing or damaged.
   * Damage is logged.
   */
  async read(): Promise<z.output<S> | undefined> {
    const { dir, name, schema, log } = this.#options;
    const text = await readFile(join(dir, name), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      return parseKept(schema, text);
    } catch (error) {
      log.warn({ err: error, dir }, `${name} is damaged and is not used`);
      return undefined;
    }
  }

  /**
   * Resolves when the state is on disk, or the log says why it is not.
   *
   * @param whole gives the state when the write begins
   */
  write(whole: () => z.input<S>): Promise<void> {
    this.#next ??= this.#turn = this.#turn.then(() => {
      this.#next = undefined;
      const { dir, name, log } = this.#options;
      return replaceFile(join(dir, name), JSON.stringify(whole())).catch((error: unknown) => {
        log.error({ err: error, dir }, `${name} cannot be written`);
      });
    });
    return this.#next;
  }

  /** Resolves when nothing is being written. */
  async close(): Promise<void> {
    await this.#turn;
  }
}
