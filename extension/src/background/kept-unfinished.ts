/**
 * Remembers the failed and paused downloads that takers had when they were last listed. A file that is
 * too small to be taken is offered if it may continue one of these: no taker is asked, or started, to
 * find that out.
 */

import { nameKey } from '@millrace/shared/download/adding/renewal';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { BrowserApi } from '../browser/api.ts';
import type { ShownDownload, TakerKind } from '../contract/taker.ts';

const KEY = 'unfinished';
/** Most downloads that are remembered. */
const MAX_KEPT = 200;

const keptSchema = z.array(
  z.strictObject({ taker: z.string(), name: z.string(), length: z.int() }),
);
type Kept = z.output<typeof keptSchema>;

export class KeptUnfinished {
  readonly #storage: BrowserApi['storage'];
  /** Resolves when the remembered downloads have been read. */
  readonly ready: Promise<void>;
  #kept: Kept = [];

  constructor(storage: BrowserApi['storage']) {
    this.#storage = storage;
    this.ready = storage.local.get(KEY).then(
      (stored) => {
        this.#kept = tryRead(keptSchema, stored[KEY] ?? []).data ?? [];
      },
      () => {},
    );
  }

  /** Remembers the downloads of takers in place of their earlier ones. Never rejects. */
  async note(downloads: readonly ShownDownload[], takers: readonly TakerKind[]): Promise<void> {
    await this.ready;
    const others = this.#kept.filter(({ taker }) => !takers.some((kind) => kind === taker));
    const found = downloads.flatMap(({ taker, name, status, length }) =>
      (status === 'error' || status === 'paused') && length !== undefined
        ? [{ taker, name: nameKey(name), length }]
        : [],
    );
    const kept = [...found, ...others].slice(0, MAX_KEPT);
    if (JSON.stringify(kept) === JSON.stringify(this.#kept)) return;
    this.#kept = kept;
    await this.#storage.local.set({ [KEY]: kept }).catch(() => {});
  }

  /** Returns true if one of them has this name, but for numbers of browsers, and this length. */
  has(fileName: string, length: number): boolean {
    const name = nameKey(fileName);
    return this.#kept.some((one) => one.name === name && one.length === length);
  }
}
