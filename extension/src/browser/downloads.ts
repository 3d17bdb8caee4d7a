/** Gives hand-offs access to the browser's downloads. */

import type { BrowserDownload, HandOff } from '../hand-off/hand-off.ts';
import type { BrowserPort } from '../hand-off/ports.ts';
import type { BrowserApi } from './api.ts';

export type DownloadItem = chrome.downloads.DownloadItem;
type Ref = HandOff['download'];

/**
 * Returns a reference to a download: its id, its start time (ids are reused) and its file's path.
 */
export function refOf(item: DownloadItem): Ref {
  const ref = { id: item.id, begunAt: Date.parse(item.startTime) };
  return item.filename === '' ? ref : { ...ref, path: item.filename };
}

/** Returns the name of a download's file without its folder; `''` if it has none yet. */
export const nameOf = ({ filename }: Pick<DownloadItem, 'filename'>): string =>
  filename.split(/[/\\]/).at(-1) ?? '';

export class BrowserDownloads implements BrowserPort {
  readonly #downloads: BrowserApi['downloads'];

  constructor(downloads: BrowserApi['downloads']) {
    this.#downloads = downloads;
  }

  async pause({ id }: Ref): Promise<void> {
    // A download that cannot be paused has ended, which the next look shows.
    await this.#downloads.pause(id).catch(() => {});
  }

  async look(ref: Ref): Promise<BrowserDownload | undefined> {
    const item = await this.#item(ref);
    if (item === undefined) return undefined;
    const { state, paused, error } = item;
    return { state, paused, cancelled: error === 'USER_CANCELED' };
  }

  async resume(ref: Ref): Promise<void> {
    const item = await this.#item(ref);
    if (item === undefined || item.error === 'USER_CANCELED') return;
    const held = item.state === 'in_progress' && item.paused;
    if (held || (item.state === 'interrupted' && item.canResume)) {
      await this.#downloads.resume(item.id);
    }
  }

  async end(ref: Ref): Promise<void> {
    const item = await this.#item(ref);
    if (item === undefined) return;
    // A download that completed just now stays.
    await this.#downloads.cancel(item.id).catch(() => {});
    const left = await this.#item(ref);
    if (left !== undefined && left.state !== 'complete') {
      await this.#downloads.erase({ id: left.id });
    }
  }

  async remove(ref: Ref): Promise<void> {
    await this.end(ref);
    const item = await this.#item(ref);
    if (item === undefined) return;
    // The user may have moved the file away.
    await this.#downloads.removeFile(item.id).catch(() => {});
    await this.#downloads.erase({ id: item.id });
  }

  async #item({ id, begunAt }: Ref): Promise<DownloadItem | undefined> {
    const [item] = await this.#downloads.search({ id });
    return item !== undefined && Date.parse(item.startTime) === begunAt ? item : undefined;
  }
}
