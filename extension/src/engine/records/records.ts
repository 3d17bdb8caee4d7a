/**
 * Keeps the records of all downloads in memory, and stores them so that they outlive the browser.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { toForget } from './places.ts';
import type { DownloadRecord } from './record.ts';

export interface EngineRecords {
  all(): Promise<readonly DownloadRecord[]>;
  /** Stores a record; resolves when it would survive the end of the browser. */
  put(record: DownloadRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

export class Records {
  readonly #records = new Map<string, DownloadRecord>();
  readonly #kept: EngineRecords;
  /** Whether a record was put or removed since this was last set to false. */
  changed = false;

  private constructor(kept: EngineRecords) {
    this.#kept = kept;
  }

  static async open(kept: EngineRecords): Promise<Records> {
    const opened = new Records(kept);
    for (const record of await kept.all()) opened.#records.set(record.id, record);
    return opened;
  }

  get all(): readonly DownloadRecord[] {
    return [...this.#records.values()];
  }

  get(id: string): DownloadRecord | undefined {
    return this.#records.get(id);
  }

  /** Returns the record of an id. @throws MillraceError `no-such-download` */
  known(id: string): DownloadRecord {
    const record = this.#records.get(id);
    if (record !== undefined) return record;
    throw new MillraceError('no-such-download');
  }

  /**
   * Puts a record; resolves when it is stored.
   *
   * @returns the records to remove to make room for it
   */
  async put(record: DownloadRecord): Promise<readonly DownloadRecord[]> {
    this.#records.set(record.id, record);
    this.changed = true;
    await this.#kept.put(record);
    return toForget(this.#records.values());
  }

  async remove(id: string): Promise<void> {
    this.#records.delete(id);
    this.changed = true;
    await this.#kept.remove(id);
  }
}
