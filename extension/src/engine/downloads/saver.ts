/**
 * Has the browser put finished files into the user's folder, under a free name. Lasting state is
 * not kept here: the engine's records and the browser's own list have it, and are compared at every
 * event.
 */

import type { BrowserApi } from '../../browser/api.ts';
import { nameOf } from '../../browser/downloads.ts';
import type { NotSavedCode, Save, SavedFile } from '../../contract/protocol.ts';

type Item = chrome.downloads.DownloadItem;

/**
 * Reports to the engine. `known` false: the download was removed meanwhile, and its file must go.
 */
export interface SaverReports {
  saving(id: string, url: string, downloadId: number): Promise<{ readonly known: boolean }>;
  saved(id: string, file: SavedFile): Promise<{ readonly known: boolean }>;
  notSaved(id: string, code: NotSavedCode, message: string): Promise<unknown>;
}

export class Saver {
  readonly #downloads: BrowserApi['downloads'];
  readonly #ownId: string;
  readonly #reports: SaverReports;
  /** Saves under way, by the engine's id. */
  readonly #saves = new Map<string, Save>();
  /**
   * Last queued work of each save, by id: work on a save runs in turn, so that nothing is saved
   * twice.
   */
  readonly #turns = new Map<string, Promise<void>>();

  /** @param ownId the extension's id, with which the browser marks the extension's downloads */
  constructor(downloads: BrowserApi['downloads'], ownId: string, reports: SaverReports) {
    this.#downloads = downloads;
    this.#ownId = ownId;
    this.#reports = reports;
  }

  /** Saves a file; repeating the order changes nothing. */
  save(save: Save): void {
    this.#saves.set(save.id, save);
    void this.#inTurn(save.id, () => this.#look(save));
  }

  /** Discards the browser's download of a removed file, complete or not. */
  leave(id: string): Promise<void> {
    return this.#inTurn(id, async () => {
      const save = this.#saves.get(id);
      this.#saves.delete(id);
      if (save === undefined) return;
      const item = await this.#begunFor(save);
      if (item !== undefined) await this.#discard(item.id);
    });
  }

  #inTurn(id: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const turn = before.then(work).catch(() => {});
    this.#turns.set(id, turn);
    void turn.then(() => {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    });
    return turn;
  }

  /** Handles a change of one of the browser's downloads. */
  onChanged({ id, state }: chrome.downloads.DownloadDelta): void {
    if (state === undefined) return;
    for (const save of this.#saves.values()) if (save.begun?.downloadId === id) this.save(save);
  }

  async #look(save: Save): Promise<void> {
    const { id, url } = save;
    if (this.#saves.get(id) !== save) return;
    const item = await this.#find(save);
    if (item === undefined) return this.#begin(save);
    const begun = { url: item.url, downloadId: item.id };
    if (save.begun?.downloadId !== item.id) {
      this.#saves.set(id, { ...save, begun });
      if (!(await this.#wants(id, this.#reports.saving(id, item.url, item.id), item.id))) return;
    }
    if (item.state === 'complete') {
      this.#saves.delete(id);
      const length = Math.max(item.fileSize, item.bytesReceived);
      if (save.length === undefined || save.length === length) {
        const file = { downloadId: item.id, length, fileName: nameOf(item) || save.fileName };
        await this.#wants(id, this.#reports.saved(id, file), item.id);
      } else {
        await this.#discard(item.id);
        const message = `${length} of ${save.length} bytes came`;
        await this.#reports.notSaved(id, 'wrong-length', message);
      }
    } else if (item.state === 'interrupted' && !(item.canResume && isOrigins(url))) {
      this.#saves.delete(id);
      const reason = item.error ?? 'the browser gave no reason';
      await this.#reports.notSaved(id, codeOf(reason), reason);
    }
  }

  /** Finds a download of the browser, begun for the save, that can still become its file. */
  async #find(save: Save): Promise<Item | undefined> {
    const item = await this.#begunFor(save);
    if (item === undefined || item.url === save.url || item.state === 'complete') return item;
    // This download belongs to an earlier run of the engine; the file has another URL now.
    await this.#discard(item.id);
    return undefined;
  }

  /**
   * Finds the browser's download that was begun for a save, if the browser's restart has not lost
   * it.
   */
  async #begunFor({ url, begun }: Save): Promise<Item | undefined> {
    if (begun !== undefined) {
      const [item] = await this.#downloads.search({ id: begun.downloadId });
      return item?.url === begun.url ? item : undefined;
    }
    // A background may have begun the download and ended before it could report it. A download that
    // the user started from the same URL is not ours.
    const items = await this.#downloads.search({ url });
    return items.find(({ byExtensionId }) => byExtensionId === this.#ownId);
  }

  /** Returns whether the engine wants a reported download; discards the download if it does not. */
  async #wants(
    id: string,
    report: Promise<{ readonly known: boolean }>,
    downloadId: number,
  ): Promise<boolean> {
    if ((await report).known) return true;
    this.#saves.delete(id);
    await this.#discard(downloadId);
    return false;
  }

  async #discard(downloadId: number): Promise<void> {
    // A finished download cannot be cancelled, and an unfinished one has no file to remove.
    await this.#downloads.cancel(downloadId).catch(() => {});
    await this.#downloads.removeFile(downloadId).catch(() => {});
    await this.#downloads.erase({ id: downloadId });
  }

  async #begin(save: Save): Promise<void> {
    const { id, url, fileName } = save;
    try {
      const downloadId = await this.#downloads.download({
        url,
        filename: fileName,
        conflictAction: 'uniquify',
        saveAs: false,
      });
      const begun: Save = { ...save, begun: { url, downloadId } };
      this.#saves.set(id, begun);
      if (!(await this.#wants(id, this.#reports.saving(id, url, downloadId), downloadId))) return;
      // The download may have ended before it was known here.
      await this.#look(begun);
    } catch (error) {
      this.#saves.delete(id);
      const message = error instanceof Error ? error.message : String(error);
      await this.#reports.notSaved(id, 'file-not-writable', message);
    }
  }
}

/** Whether the browser fetches the file itself: the user can resume such a download at any time. */
const isOrigins = (url: string) => !url.startsWith('blob:');

/** Returns the error code for a reason of the browser. */
function codeOf(reason: string): NotSavedCode {
  if (reason === 'FILE_NO_SPACE') return 'disk-full';
  if (reason.startsWith('USER_')) return 'interrupted';
  return /^(?:NETWORK|SERVER)_/.test(reason) ? 'origin-reset' : 'file-not-writable';
}
