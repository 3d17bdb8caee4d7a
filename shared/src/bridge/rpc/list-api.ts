/** Lists of downloads: what can be asked for, a page at a time, and the figures beside them. */

import type { DownloadStatus, DownloadView } from './daemon-api.ts';
import type { ScheduleNow } from './settings-api.ts';

export const SORT_KEYS = [
  'queue',
  'name',
  'size',
  'progress',
  'speed',
  'status',
  'host',
  'added',
  'finished',
] as const;

/** queue: what runs, then the line in its order, then finished ones, newest first. */
export type SortKey = (typeof SORT_KEYS)[number];

export interface ListQuery {
  /** Default: all. */
  readonly status?: readonly DownloadStatus[];
  readonly category?: string;
  readonly host?: string;
  /** Words that must all be in name, URLs, category or error. */
  readonly text?: string;
  /** Default: queue. Undefined values (a size that is not known) come last either way. */
  readonly sort?: SortKey;
  readonly descending?: boolean;
  /** From 0. */
  readonly offset?: number;
  /** 0 to 1000, default 100. */
  readonly limit?: number;
}

export interface ListPage {
  /** Downloads that match, on all pages. */
  readonly total: number;
  readonly downloads: readonly DownloadView[];
  /** As in `LiveUpdate`: while it stays the same, other pages of the same query fit this one. */
  readonly revision: number;
}

/** What a side bar shows. */
export interface Totals {
  /** Every status is there, 0 or more. */
  readonly byStatus: Readonly<Record<DownloadStatus, number>>;
  /** Categories with downloads, all states; those without a category are not counted. */
  readonly byCategory: Readonly<Record<string, number>>;
  /** Bytes per second, over all. */
  readonly bytesPerSecond: number;
  /** Over the downloads that run and whose length is known: for one bar over all of them. */
  readonly activeBytes: { readonly stored: number; readonly length: number };
  /** Global limit, bytes per second. */
  readonly limit?: number | undefined;
  /** Removed downloads in the trash, and bytes on disk that are kept for them. */
  readonly trash: { readonly count: number; readonly bytes: number };
  readonly schedule: ScheduleNow;
}
