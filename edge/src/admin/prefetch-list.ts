/** Prefetches that are not over, kept on disk, so that a restart of the edge ends none of them. */

import type { Log } from '@millrace/shared/base/log';
import * as z from 'zod';
import { ID, PREFETCH_BODY } from '../cache/commands.ts';
import { KeptFile } from '../cache/kept-file.ts';

/** The file of prefetches. */
export const PREFETCH_FILE = z.object({
  format: z.literal(1),
  prefetches: z.array(PREFETCH_BODY.extend({ id: ID, askedAt: z.number() })),
});
export type KeptPrefetch = z.infer<typeof PREFETCH_FILE>['prefetches'][number];

export class PrefetchList {
  readonly #file: KeptFile<typeof PREFETCH_FILE>;

  /** @param dir of the disk tier */
  constructor(dir: string, log: Log) {
    this.#file = new KeptFile({ dir, name: 'prefetches.json', schema: PREFETCH_FILE, log });
  }

  /** Reads the prefetches that an earlier run has left, the first to run first. */
  async read(): Promise<readonly KeptPrefetch[]> {
    return (await this.#file.read())?.prefetches ?? [];
  }

  /** Resolves when the list is on disk or the log says why not. @param whole the unfinished ones */
  write(whole: () => KeptPrefetch[]): Promise<void> {
    return this.#file.write(() => ({ format: 1, prefetches: whole() }));
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
