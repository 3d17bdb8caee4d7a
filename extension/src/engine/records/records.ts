/** The records of all downloads: in memory, and kept so that they survive the end of the browser. */

import { MillraceError } from '@millrace/shared/base/errors';
import { type DownloadRecord, toForget } from './record.ts';

export interface EngineRecords {
  all(): Promise<readonly DownloadRecord[]>;
  /** Resolves when it survives the end of the browser. */
  put(record: DownloadRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

export class Records {
  readonly #records = new Map<string, DownloadRecord>();
  readonly #kept: EngineRecords;
  /** Something has been put or removed since it was last set to false. */
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

  /** @throws MillraceError `no-such-download` */
  known(id: string): DownloadRecord {
    const record = this.#records.get(id);
    if (record !== undefined) return record;
    throw new MillraceError('no-such-download');
  }

  /**
   * Resolves when it is kept.
   *
   * @returns those that have to make room for it
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
