/** Has the browser put files into the user's folder, and handles its reports. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { Save, SavedFile } from '../../contract/protocol.ts';
import { failed } from '../records/failures.ts';
import { type DownloadRecord, isAtBrowser, saved } from '../records/record.ts';
import type { Records } from '../records/records.ts';
import type { EngineFiles } from '../storage/files.ts';

export interface SavingOptions {
  readonly records: Records;
  readonly files: EngineFiles;
  /** Stores a record. */
  readonly put: (record: DownloadRecord) => Promise<void>;
  readonly emit: (save: Save) => void;
}

export class Saving {
  readonly #options: SavingOptions;
  /** URLs from which the browser saves, by the id of the download. */
  readonly #urls = new Map<string, string>();

  constructor(options: SavingOptions) {
    this.#options = options;
  }

  /** Has the browser save a complete file; queues an incomplete one to be fetched again. */
  async begin(record: DownloadRecord): Promise<void> {
    const { records, files, put } = this.#options;
    const { id, length = 0, save } = record;
    const url = await files.url(id, length).catch(() => undefined);
    if (records.get(id) === undefined) {
      // The download was removed meanwhile.
      if (url !== undefined) files.revoke(url);
      return;
    }
    if (url === undefined) {
      await put({ ...record, state: 'queued', save: undefined, storedBytes: 0 });
    } else {
      this.#urls.set(id, url);
      await put({ ...record, save: save?.downloadId === undefined ? { url } : save });
    }
    this.ask(records.known(id));
  }

  /** Asks the browser to save a file, if the record has one to save. Asking again is harmless. */
  ask(record: DownloadRecord): void {
    const { id, fileName, length, save } = record;
    if (save === undefined || !isAtBrowser(record)) return;
    const { downloadId, url } = save;
    this.#options.emit({
      id,
      url: this.#urls.get(id) ?? url,
      fileName,
      length,
      ...(downloadId === undefined ? {} : { begun: { url, downloadId } }),
    });
  }

  /**
   * Asks again if the order may have been lost. What the browser fetches itself may take it days,
   * and the browser tells when that ends: no order is repeated for it once it has begun.
   */
  askAgain(record: DownloadRecord): void {
    const hasBegun = record.save?.downloadId !== undefined;
    if (this.#urls.has(record.id) || !hasBegun) this.ask(record);
  }

  /** @returns false if the download was removed meanwhile */
  async onBegun(id: string, url: string, downloadId: number): Promise<boolean> {
    const { records, put } = this.#options;
    const record = records.get(id);
    if (record === undefined) return false;
    if (isAtBrowser(record)) await put({ ...record, save: { url, downloadId } });
    return true;
  }

  /** @returns false if the download was removed meanwhile */
  async onSaved(id: string, file: SavedFile): Promise<boolean> {
    const { records, put } = this.#options;
    const record = records.get(id);
    if (record === undefined) return false;
    if (!isAtBrowser(record)) return true;
    if (record.length !== undefined && record.length !== file.length) {
      const values = { hasBytes: file.length, wantedBytes: record.length };
      const detail = { code: 'part-came', values } as const;
      await this.onNotSaved(id, new MillraceError('wrong-length', detail));
      return true;
    }
    await put(saved(record, file));
    await this.leave(id);
    return true;
  }

  async onNotSaved(id: string, error: MillraceError): Promise<void> {
    const { records, put } = this.#options;
    const record = records.known(id);
    if (!isAtBrowser(record)) return;
    // The bytes are kept: resuming the download saves them again.
    await put(failed(record, error));
    this.#revoke(id);
  }

  /** Deletes a file that nothing needs any more. */
  async leave(id: string): Promise<void> {
    this.#revoke(id);
    await this.#options.files.remove(id);
  }

  #revoke(id: string): void {
    const url = this.#urls.get(id);
    if (url !== undefined) this.#options.files.revoke(url);
    this.#urls.delete(id);
  }
}
