/** What happens to downloads, as the daemon tells it. */

import type { DownloadView } from '@millrace/shared/bridge/daemon-api';
import { isObject } from '@millrace/shared/bridge/json-rpc';
import type { DaemonLink } from './daemon-link.ts';

export interface FeedListener {
  /** Downloads that have changed, or that run. */
  onDownloads(downloads: readonly DownloadView[]): void;
  onForgotten(gids: readonly string[]): void;
}

const PROGRESS_MS = 1000;
/** As many as one call gives; the rest is told of when it changes. */
const FIRST = 1000;

/** Follows from now on; what runs or waits already comes first. */
export async function follow(link: DaemonLink, listener: FeedListener): Promise<void> {
  link.onNotification((method, [param]) => {
    if (!isObject(param)) return;
    if (method === 'millrace.onChange') {
      listener.onDownloads([param.download as DownloadView]);
    } else if (method === 'millrace.onProgress') {
      listener.onDownloads(param.downloads as DownloadView[]);
    } else if (method === 'millrace.onForget') {
      listener.onForgotten(param.gids as string[]);
    }
  });
  await link.call('subscribe', { progressMs: PROGRESS_MS });
  const status = ['active', 'queued', 'waiting'];
  const { downloads } = await link.call<{ downloads: DownloadView[] }>('list', {
    status,
    limit: FIRST,
  });
  listener.onDownloads(downloads);
}
