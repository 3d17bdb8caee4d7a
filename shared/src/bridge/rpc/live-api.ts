/**
 * Live updates over a WebSocket: after `millrace.watch`, the notification `millrace.onUpdate` comes
 * at most four times a second, only when something has changed, and holds only the changes.
 */

import type { watchResult } from '../results/detail-results.ts';
import type { Shape } from '../results/named.ts';
import type { DownloadView } from './daemon-api.ts';
import type { DownloadDetail, LogEntry, SpeedHistory } from './detail-api.ts';
import type { Totals } from './list-api.ts';
import type { AppSettings } from './settings-api.ts';
import type { ShareView } from './share-api.ts';

export const ON_UPDATE = 'millrace.onUpdate';

/** A request replaces the earlier one on the same connection. */
export interface WatchRequest {
  /** Changed rows, totals and settings; default true. */
  readonly list?: boolean;
  /** A download whose detail is open. */
  readonly detail?: string;
  /** Cells of its map, 1 to MAX_CELLS; default 400. */
  readonly cells?: number;
}

export type WatchResult = Shape<typeof watchResult>;

/** Fields of a row that have changed; null: the field is gone. */
export type RowPatch = { readonly gid: string } & {
  readonly [K in keyof DownloadView]?: DownloadView[K] | null;
};

/** Changed members of a detail: whole members, except for log and speed, which grow. */
export interface DetailPatch extends Partial<Omit<DownloadDetail, 'gid' | 'log' | 'speed'>> {
  readonly gid: string;
  /** New entries. */
  readonly newLog?: readonly LogEntry[];
  /** New samples; append them, keep the last 600. */
  readonly newSpeed?: SpeedHistory;
}

export interface LiveUpdate {
  /**
   * Rises when a list may have other members or another order than before: read the visible pages
   * again. Rows that only changed their figures come as patches.
   */
  readonly revision: number;
  /** True: more has changed than is sent; read the visible pages again. */
  readonly incomplete?: true;
  /** Complete rows of new or changed downloads; for other running downloads, only the figures. */
  readonly rows?: readonly RowPatch[];
  /** Downloads that are not in any list any more. */
  readonly gone?: readonly string[];
  readonly totals?: Totals;
  /** Speed over all downloads: new samples; append them, keep the last 600. */
  readonly newSpeed?: SpeedHistory;
  readonly settings?: AppSettings;
  readonly detail?: DetailPatch;
  /** Files that were sent: new and changed ones, complete. */
  readonly shares?: readonly ShareView[];
  /** Ids of files that were sent and are not in the list any more. */
  readonly goneShares?: readonly string[];
  /** Messages of the engine about downloads, to show for a moment. */
  readonly notes?: readonly { readonly gid: string; readonly text: string }[];
}
