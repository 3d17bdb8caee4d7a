/**
 * Removes our own stale entries from the browser's list of downloads. Browsers write the list to
 * disk some seconds late: if a browser is killed in between, a download that ended when it was
 * handed over, or an unfinished copy of our own, reappears at the next start.
 */

import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { BrowserApi } from '../browser/api.ts';
import { type DownloadItem, refOf } from '../browser/downloads.ts';
import type { HandOff } from '../hand-off/hand-off.ts';

const KEY = 'ended-downloads';
/** Most ended downloads to remember; the oldest are forgotten first. */
const MAX_ENDED = 100;

const endedSchema = z.array(z.number());

export class StaleEntries {
  readonly #downloads: BrowserApi['downloads'];
  readonly #storage: BrowserApi['storage']['local'];
  readonly #ownId: string;
  /** Start times of ended downloads; ids are no use because browsers reuse them. */
  #ended: Promise<Set<number>>;

  /** Must be called while the background's script runs for the first time. */
  constructor({ downloads, storage, runtime }: BrowserApi) {
    this.#downloads = downloads;
    this.#storage = storage.local;
    this.#ownId = runtime.id;
    this.#ended = this.#load();
    // The browser may read the list of an earlier run only after this.
    downloads.onCreated.addListener((item) => void this.#look(item).catch(() => {}));
    runtime.onStartup.addListener(() => void this.sweep().catch(() => {}));
  }

  /** Remembers a download that was handed over and ended. */
  async add({ begunAt }: HandOff['download']): Promise<void> {
    const ended = await this.#ended;
    ended.add(begunAt);
    for (const oldest of ended) {
      if (ended.size <= MAX_ENDED) break;
      ended.delete(oldest);
    }
    await this.#storage.set({ [KEY]: [...ended] });
  }

  /** Removes stale entries from the whole list; to be called when the browser has started. */
  async sweep(): Promise<void> {
    for (const item of await this.#downloads.search({ state: 'interrupted' })) {
      await this.#look(item);
    }
  }

  async #look(item: DownloadItem): Promise<void> {
    if (item.state !== 'interrupted') return;
    const isCopy = item.byExtensionId === this.#ownId && item.url.startsWith('blob:');
    const isEnded =
      item.byExtensionId === undefined && (await this.#ended).has(refOf(item).begunAt);
    if (isCopy || isEnded) await this.#downloads.erase({ id: item.id });
  }

  async #load(): Promise<Set<number>> {
    const stored = await this.#storage.get(KEY).catch(() => ({}));
    const { [KEY]: ended } = stored as Record<string, unknown>;
    return new Set(tryRead(endedSchema, ended).data ?? []);
  }
}
