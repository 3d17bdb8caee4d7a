/** Downloads that are there already, of a URL that somebody wants to add. */

import type { Duplicate } from '@millrace/shared/bridge/adding-api';
import type { DownloadRecord } from '../store/record.ts';
import type { Manager } from './manager.ts';

/** Of those whose URLs look alike so many are looked at. */
const MAX_CANDIDATES = 20;

export class Duplicates {
  readonly #manager: Manager;
  /** Unfinished ones by what their URLs have in common with signed links to the same file. */
  readonly #unfinished = new Map<string, DownloadRecord[]>();

  /** Good for one look: what is added later is not known. */
  constructor(manager: Manager) {
    this.#manager = manager;
    for (const record of manager.unfinished()) {
      for (const url of record.request.urls) {
        const key = withoutQuery(url);
        this.#unfinished.set(key, [...(this.#unfinished.get(key) ?? []), record]);
      }
    }
  }

  /** The one that is most alike; an unfinished one before others. */
  of(text: string): Duplicate | undefined {
    const url = normalised(text);
    if (url === undefined) return undefined;
    const key = withoutQuery(url);
    const found = [
      ...(this.#unfinished.get(key) ?? []),
      ...this.#manager.store.withUrl(key, MAX_CANDIDATES),
    ].filter(({ state }) => state !== 'removed');
    const same = found.find(({ request }) => request.urls.includes(url));
    const alike = same ?? found.find(({ request }) => request.urls.map(withoutQuery).includes(key));
    if (alike === undefined) return undefined;
    const { gid, name, state, path } = alike;
    return { url: text, same: same === undefined ? 'path' : 'url', gid, name, status: state, path };
  }
}

function normalised(text: string): string | undefined {
  const url = URL.parse(text.trim());
  if (url === null) return undefined;
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href;
}

function withoutQuery(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
