/**
 * Counts the downloads of an edge by file, day and country. Of several processes the supervisor has
 * the one counter, because the connections of one client come to all of them.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { type DownloadCount, DownloadTable } from '@millrace/shared/cdn/figures/download-table';
import { DAY_MS, OpenDownloads } from '@millrace/shared/cdn/figures/open-downloads';
import { fileWords } from '@millrace/shared/node/files/file-words';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import { DailyKeys } from './daily-keys.ts';

/** Bytes that a client has taken of a file; as JSON also between processes. Nobody keeps it. */
export interface TakenBytes {
  /** Address and program of the client. */
  readonly client: string;
  readonly country: string;
  /** URL without its query, to be shown. */
  readonly file: string;
  /** Tells apart versions of the file, and files that differ in their query. */
  readonly version: string;
  /** Bytes; undefined: unknown. */
  readonly length: number | undefined;
  readonly ranges: readonly { readonly start: number; readonly end: number }[];
  /** Body bytes sent. */
  readonly sent: number;
  readonly isWhole: boolean;
}

/** The counts of all processes of an edge, as one of them sees them. */
export interface Downloads {
  /** Counts what a client has taken with one request. */
  readonly record: (taken: TakenBytes) => void;
  /** Lists the counts of the latest days, the present one included. */
  read(days: number): Promise<readonly DownloadCount[]>;
  /** Hands on or writes down what has been counted. */
  close(): Promise<void>;
}

type DownloadEvent = 'begun' | 'completed';

export interface DownloadCounterOptions {
  /** Folder for the counts; undefined: they end with the process. */
  readonly dir: string | undefined;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly onEvent: (event: DownloadEvent, country: string) => void;
}

const FILE = 'downloads.json';
/** Interval at which the counts are written down: so much a crash may lose. */
export const WRITE_INTERVAL_MS: Millis = 60_000;

export class DownloadCounter {
  readonly #options: DownloadCounterOptions;
  readonly #keys = new DailyKeys();
  readonly #open = new OpenDownloads();
  readonly #table = new DownloadTable();
  #changed = false;
  #writing: Promise<void> = Promise.resolve();

  /** Opens the counter with the counts of earlier runs. */
  constructor(options: DownloadCounterOptions) {
    this.#options = options;
    const path = this.#path;
    if (path === undefined) return;
    try {
      this.#table.restore(JSON.parse(readFileSync(path, 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      const reason = error instanceof SyntaxError ? error.message : fileWords(error);
      options.log.warn({ path, reason }, 'the counts of downloads start again at zero');
    }
  }

  /** Memory that the counts take, bytes. */
  get bytes(): number {
    return this.#open.bytes + this.#table.bytes;
  }

  /** Counts what a client has taken with one request. */
  readonly record = (taken: TakenBytes): void => {
    const { client, country, file, version, length, ranges, sent, isWhole } = taken;
    const now = this.#options.wallClock();
    const keys = this.#keys.of(JSON.stringify([client, file, version]), now);
    const step = this.#open.take({ keys, length, ranges, isWhole }, country, now);
    const { begun, completed } = step;
    const growth = { begun: Number(begun), completed: Number(completed), bytes: sent };
    this.#table.add(step.day, file, step.country, growth);
    if (begun) this.#options.onEvent('begun', step.country);
    if (completed) this.#options.onEvent('completed', step.country);
    this.#changed = true;
  };

  /** Lists the counts of the latest days, the present one included. */
  read(days: number): DownloadCount[] {
    const today = Math.floor(this.#options.wallClock() / DAY_MS);
    return this.#table.rows(today - days + 1, today);
  }

  /** Writes the counts down, if they have changed. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const path = this.#path;
    if (path === undefined || !this.#changed) return;
    this.#changed = false;
    try {
      await replaceFile(path, JSON.stringify(this.#table.save()));
    } catch (error) {
      this.#changed = true;
      const reason = fileWords(error);
      this.#options.log.warn({ path, reason }, 'the counts of downloads cannot be written down');
    }
  }

  get #path(): string | undefined {
    const { dir } = this.#options;
    return dir === undefined ? undefined : join(dir, FILE);
  }
}
