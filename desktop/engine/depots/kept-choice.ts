/**
 * Remembers which found depots an upload uses, so that the same command continues it at these, whatever
 * the lists of the edges say by then.
 */

import { createHash } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_PLACES } from '@millrace/shared/exnode/places';
import { newName, replaceFile } from '@millrace/shared/node/files/replace-file';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';

const origin = z.url({ protocol: /^https?$/ }).max(300);
const RECORD = z.object({
  format: z.literal(1),
  found: z.array(z.object({ origin, by: origin })).max(MAX_PLACES),
});

/** A depot that is used, and the edge that has named it. */
export type Chosen = z.output<typeof RECORD>['found'][number];

export class KeptChoice {
  readonly #file: string;

  /**
   * @param state folder for the state of programs
   * @param upload texts that tell this upload from others
   */
  constructor(state: string, upload: readonly string[]) {
    const name = createHash('sha256').update(JSON.stringify(upload)).digest('hex').slice(0, 32);
    this.#file = join(state, 'uploads', `${name}.depots`);
  }

  /** Returns the depots that are remembered; none if there are none. */
  async read(): Promise<readonly Chosen[]> {
    const text = await readFile(this.#file, 'utf8').catch(() => 'null');
    try {
      return tryRead(RECORD, JSON.parse(text)).data?.found ?? [];
    } catch {
      return [];
    }
  }

  async write(found: readonly Chosen[]): Promise<void> {
    await mkdir(join(this.#file, '..'), { recursive: true, mode: 0o700 });
    await replaceFile(this.#file, JSON.stringify({ format: 1, found }));
  }

  async remove(): Promise<void> {
    for (const path of [this.#file, newName(this.#file)]) await rm(path, { force: true });
  }
}
