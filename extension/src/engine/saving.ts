/** What the browser puts into the user's folder: it is asked to, and says how that has gone. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { EngineFiles } from './files.ts';
import type { Ledger } from './ledger.ts';
import type { Save } from './protocol.ts';
import { type DownloadRecord, failed, isAtBrowser, saved } from './record.ts';

export interface SavingOptions {
  readonly ledger: Ledger;
  readonly files: EngineFiles;
  /** Keeps a record. */
  readonly put: (record: DownloadRecord) => Promise<void>;
  readonly emit: (save: Save) => void;
}

export class Saving {
  readonly #o: SavingOptions;
  /** By id: what the browser saves from. */
  readonly #urls = new Map<string, string>();

  constructor(options: SavingOptions) {
    this.#o = options;
  }

  /** Has the browser save what is complete; where it is not, it is fetched again. */
  async begin(record: DownloadRecord): Promise<void> {
    const { ledger, files, put } = this.#o;
    const { id, length = 0, save } = record;
    const url = await files.url(id, length).catch(() => undefined);
    if (ledger.get(id) === undefined) {
      // Removed meanwhile.
      if (url !== undefined) files.revoke(url);
      return;
    }
    if (url === undefined) {
      await put({ ...record, state: 'queued', save: undefined, storedBytes: 0 });
    } else {
      this.#urls.set(id, url);
      await put({ ...record, save: save?.downloadId === undefined ? { url } : save });
    }
    this.ask(ledger.known(id));
  }

  /** Asks the browser, where there is something to save; the same may be asked again. */
  ask(record: DownloadRecord): void {
    const { id, fileName, length, save } = record;
    if (save === undefined || !isAtBrowser(record)) return;
    const { downloadId, url } = save;
    this.#o.emit({
      id,
      url: this.#urls.get(id) ?? url,
      fileName,
      length,
      ...(downloadId === undefined ? {} : { begun: { url, downloadId } }),
    });
  }

  /** @returns false if it has been removed meanwhile */
  async onBegun(id: string, url: string, downloadId: number): Promise<boolean> {
    const { ledger, put } = this.#o;
    const record = ledger.get(id);
    if (record === undefined) return false;
    if (isAtBrowser(record)) await put({ ...record, save: { url, downloadId } });
    return true;
  }

  /** @returns false if it has been removed meanwhile */
  async onSaved(id: string, downloadId: number, length: number): Promise<boolean> {
    const { ledger, put } = this.#o;
    const record = ledger.get(id);
    if (record === undefined) return false;
    if (!isAtBrowser(record)) return true;
    if (record.length !== undefined && record.length !== length) {
      const detail = `${length} of ${record.length} bytes came`;
      await this.onNotSaved(id, new MillraceError('wrong-length', detail));
      return true;
    }
    await put(saved(record, downloadId, length));
    await this.leave(id);
    return true;
  }

  async onNotSaved(id: string, error: MillraceError): Promise<void> {
    const { ledger, put } = this.#o;
    const record = ledger.known(id);
    if (!isAtBrowser(record)) return;
    // The bytes are kept: going on with it saves them again.
    await put(failed(record, error));
    this.#revoke(id);
  }

  /** Nothing needs the file any more. */
  async leave(id: string): Promise<void> {
    this.#revoke(id);
    await this.#o.files.remove(id);
  }

  #revoke(id: string): void {
    const url = this.#urls.get(id);
    if (url !== undefined) this.#o.files.revoke(url);
    this.#urls.delete(id);
  }
}
