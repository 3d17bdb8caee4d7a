/** Events of downloads, as the daemon tells them. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import { type LiveUpdate, ON_UPDATE } from '@millrace/shared/bridge/rpc/live-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import type { DaemonLink } from './daemon-link.ts';

export interface FeedListener {
  onTotals(totals: Totals): void;
  /** Downloads that have changed their state. */
  onChanged(downloads: readonly DownloadView[]): void;
  onSettings(settings: AppSettings): void;
}

/** Follows from now on; how things are comes first. */
export async function follow(link: DaemonLink, listener: FeedListener): Promise<void> {
  link.onNotification((method, [param]) => {
    if (method !== ON_UPDATE) return;
    const { totals, rows = [], settings } = param as LiveUpdate;
    if (totals !== undefined) listener.onTotals(totals);
    if (settings !== undefined) listener.onSettings(settings);
    // Rows that are new or changed their state are complete; of others only figures come.
    const changed = rows.filter((row) => row.status !== undefined);
    if (changed.length > 0) listener.onChanged(changed as readonly DownloadView[]);
  });
  const { totals, settings } = await link.call('millrace.watch', { list: true });
  listener.onTotals(totals);
  listener.onSettings(settings);
}
