/** Removing downloads, and the trash that they go to. */

import type { DownloadStatus } from './daemon-api.ts';

/** What a removal would take away, for asking before it. */
export interface RemovalSummary {
  readonly count: number;
  /** Unfinished ones, and those that have failed, with data. */
  readonly unfinished: number;
  /** Bytes that unfinished ones have so far. */
  readonly partialBytes: number;
  readonly complete: number;
  /** Bytes of the files of complete ones. */
  readonly fileBytes: number;
}

/** A removed download, as the trash shows it. */
export interface TrashItem {
  readonly gid: string;
  readonly name: string;
  /** State before its removal. */
  readonly status: DownloadStatus;
  /** What is kept of it besides its entry: its partial data, its file, or nothing. */
  readonly kept: 'partial' | 'file' | 'entry';
  /** Bytes on disk that are kept. */
  readonly bytes: number;
  /** Bytes of the whole file. */
  readonly length?: number | undefined;
  readonly host: string;
  /** Unix milliseconds, as all times. */
  readonly removedAt: number;
  /** When it is deleted for good. */
  readonly expiresAt: number;
}

export interface TrashPage {
  readonly total: number;
  /** Bytes on disk, over all. */
  readonly bytes: number;
  /** Newest first. */
  readonly items: readonly TrashItem[];
}

export interface Emptied {
  readonly count: number;
  readonly bytes: number;
}
