/** Follows the events of downloads that the daemon reports. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import { type LiveUpdate, ON_UPDATE } from '@millrace/shared/bridge/rpc/live-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import type { DaemonLink } from './daemon-link.ts';

export interface FeedListener {
  onTotals(totals: Totals): void;
  /** Called with downloads whose state has changed. */
  onChanged(downloads: readonly DownloadView[]): void;
  onSettings(settings: AppSettings): void;
}

/** Follows the daemon from now on, beginning with the present totals and settings. */
export async function follow(link: DaemonLink, listener: FeedListener): Promise<void> {
  link.onNotification((method, [param]) => {
    if (method !== ON_UPDATE) return;
    const { totals, rows = [], settings } = param as LiveUpdate;
    if (totals !== undefined) listener.onTotals(totals);
    if (settings !== undefined) listener.onSettings(settings);
    // Rows of new downloads and of changed states are complete; other rows have figures only.
    const changed = rows.filter((row) => row.status !== undefined);
    if (changed.length > 0) listener.onChanged(changed as readonly DownloadView[]);
  });
  const { totals, settings } = await link.call('millrace.watch', { list: true });
  listener.onTotals(totals);
  listener.onSettings(settings);
}
