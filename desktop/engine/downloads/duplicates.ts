/** Finds existing downloads of a URL that is to be added. */

import type { Duplicate } from '@millrace/shared/bridge/rpc/adding-api';
import type { DownloadStore } from '../store/download-store.ts';

/** Most downloads with similar URLs that are compared. */
const MAX_CANDIDATES = 20;

/** Returns the most similar download: unfinished ones come first, removed ones are left out. */
export function duplicateOf(store: DownloadStore, text: string): Duplicate | undefined {
  const url = normalised(text);
  if (url === undefined) return undefined;
  const found = store.withUrl(url, MAX_CANDIDATES).filter(({ state }) => state !== 'removed');
  const same = found.find(
    ({ request, options }) => request.urls.includes(url) || options.resolved?.url === url,
  );
  const alike = same ?? found[0];
  if (alike === undefined) return undefined;
  const { gid, name, state, path } = alike;
  return { url: text, same: same === undefined ? 'path' : 'url', gid, name, status: state, path };
}

function normalised(text: string): string | undefined {
  const url = URL.parse(text.trim());
  if (url === null) return undefined;
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href;
}
