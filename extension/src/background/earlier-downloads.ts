/**
 * Tells of downloads that began before the extension listened. Their requests were not seen, so
 * nothing shows that a request of the extension's own would bring the same file: they stay with the
 * browser.
 */

import type { BrowserApi } from '../browser/api.ts';
import type { DownloadItem } from '../browser/downloads.ts';
import type { Settings } from '../contract/settings.ts';
import { hostOf } from '../intercept/hosts.ts';

/** Returns those of the browser's downloads that the user would expect to be taken. */
function missed(
  items: readonly DownloadItem[],
  { minBytes, on }: Settings,
): readonly DownloadItem[] {
  return items.filter(
    ({ state, incognito, byExtensionId, finalUrl, url, totalBytes }) =>
      on &&
      state === 'in_progress' &&
      !incognito &&
      byExtensionId === undefined &&
      hostOf(finalUrl || url) !== undefined &&
      totalBytes >= minBytes,
  );
}

/** Has `tell` called with the number of missed downloads when the user installs the extension. */
export function tellOfMissed(
  { runtime, downloads }: Pick<BrowserApi, 'runtime' | 'downloads'>,
  settings: { readonly ready: Promise<void>; readonly now: Settings },
  tell: (count: number) => void,
): void {
  runtime.onInstalled.addListener(({ reason }) => {
    if (reason !== 'install') return;
    void Promise.all([downloads.search({ state: 'in_progress' }), settings.ready])
      .then(([items]) => {
        const { length } = missed(items, settings.now);
        if (length > 0) tell(length);
      })
      .catch(() => {});
  });
}
