/** Lists of downloads: queries, pages of results, and the figures beside them. */

import type { listPage, totals } from '../results/download-results.ts';
import type { Shape } from '../results/named.ts';
import type { DownloadStatus } from './daemon-api.ts';

export const SORT_KEYS = [
  'queue',
  'name',
  'size',
  'progress',
  'speed',
  'eta',
  'status',
  'host',
  'added',
  'finished',
  'urgent',
] as const;

/**
 * queue: running downloads, then the queue in its order, then finished ones, newest first.
 * urgent: running downloads, then waiting ones, failed ones and all others, each newest first.
 */
export type SortKey = (typeof SORT_KEYS)[number];

export interface ListQuery {
  /** Default: all. */
  readonly status?: readonly DownloadStatus[];
  readonly category?: string;
  readonly host?: string;
  /** Words that must all be in name, URLs, category or error. */
  readonly text?: string;
  /** Default: queue. Undefined values (an unknown size) come last in either direction. */
  readonly sort?: SortKey;
  readonly descending?: boolean;
  /** From 0. */
  readonly offset?: number;
  /** 0 to 1000, default 100. */
  readonly limit?: number;
}

export type ListPage = Shape<typeof listPage>;
/** The figures that a side bar shows. */
export type Totals = Shape<typeof totals>;
