/** The pins on disk, beside the cache that they are about: written anew with each change. */

import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@millrace/shared/base/log';
import { z } from 'zod';
import { NETWORK_PIN, PIN } from './messages.ts';

const NAME = 'pins.json';

const FILE = z.object({
  format: z.literal(1),
  /** What is held. */
  pins: z.array(PIN),
  /** What the network is to hold. */
  network: z.array(NETWORK_PIN).default([]),
});

export type KeptPins = Omit<z.infer<typeof FILE>, 'format'>;

export class PinFile {
  readonly #dir: string;
  readonly #log: Log;
  #turn: Promise<void> = Promise.resolve();

  constructor(dir: string, log: Log) {
    this.#dir = dir;
    this.#log = log;
  }

  /** What an earlier run has left; nothing where the file is missing or damaged. */
  async read(): Promise<KeptPins> {
    const nothing = { pins: [], network: [] };
    const text = await readFile(join(this.#dir, NAME), 'utf8').catch(() => undefined);
    if (text === undefined) return nothing;
    try {
      return FILE.parse(JSON.parse(text));
    } catch (error) {
      const what = { err: error, dir: this.#dir };
      this.#log.warn(what, 'the list of pins is damaged: nothing is pinned');
      return nothing;
    }
  }

  /**
   * Resolves when what is pinned by then is on disk, or the log says why it is not.
   *
   * @param whole what is pinned when it is written
   */
  write(whole: () => KeptPins): Promise<void> {
    this.#turn = this.#turn.then(() =>
      this.#write(whole()).catch((error: unknown) => {
        const what = { err: error, dir: this.#dir };
        this.#log.error(what, 'the list of pins cannot be written');
      }),
    );
    return this.#turn;
  }

  async close(): Promise<void> {
    await this.#turn;
  }

  async #write(kept: KeptPins): Promise<void> {
    const aside = join(this.#dir, `${NAME}.${randomUUID()}`);
    try {
      const file = await open(aside, 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify({ format: 1, ...kept }));
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(aside, join(this.#dir, NAME));
    } catch (error) {
      await rm(aside, { force: true }).catch(() => {});
      throw error;
    }
  }
}
