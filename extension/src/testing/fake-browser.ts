/**
 * Fake browser for tests, with the functions that interception and hand-offs use, as Chromium or
 * Firefox has them.
 */

import type { BrowserApi } from '../browser/api.ts';
import type { DownloadItem } from '../browser/downloads.ts';

type Listener = (...values: never[]) => unknown;

class FakeEvent {
  readonly #listeners = new Set<Listener>();

  addListener(listener: Listener): void {
    this.#listeners.add(listener);
  }

  fire(...values: unknown[]): void {
    for (const listener of [...this.#listeners]) listener(...(values as never[]));
  }
}

class FakeArea {
  readonly kept = new Map<string, unknown>();

  async get(keys: string | readonly string[] | null): Promise<Record<string, unknown>> {
    const names = keys === null ? [...this.kept.keys()] : [keys].flat();
    const found = names.filter((name) => this.kept.has(name));
    return Object.fromEntries(found.map((name) => [name, this.kept.get(name)]));
  }

  async set(values: Record<string, unknown>): Promise<void> {
    for (const [name, value] of Object.entries(values)) this.kept.set(name, structuredClone(value));
  }

  async remove(key: string): Promise<void> {
    this.kept.delete(key);
  }
}

export interface FakeRequest {
  readonly url: string;
  readonly method?: string;
  /** URL to which the request is redirected. */
  readonly redirect?: string;
  readonly sent?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

const fieldsOf = (fields: Readonly<Record<string, string>>) =>
  Object.entries(fields).map(([name, value]) => ({ name, value }));

export class FakeBrowser {
  readonly items = new Map<number, DownloadItem>();
  /** Actions on downloads, in order. */
  readonly done: string[] = [];
  readonly local = new FakeArea();
  readonly session = new FakeArea();
  readonly storageChanged = new FakeEvent();
  readonly #firefox: boolean;
  readonly #events = {
    created: new FakeEvent(),
    changed: new FakeEvent(),
    erased: new FakeEvent(),
    before: new FakeEvent(),
    sent: new FakeEvent(),
    answered: new FakeEvent(),
  };
  #next = 1;

  constructor(firefox: boolean) {
    this.#firefox = firefox;
  }

  get api(): BrowserApi {
    const { created, changed, erased, before, sent, answered } = this.#events;
    const act = (name: string, change: (item: DownloadItem) => Partial<DownloadItem>) => {
      return async (id: number) => {
        const item = this.items.get(id);
        if (item === undefined || item.state !== 'in_progress') throw new Error('it has ended');
        this.done.push(name);
        this.change(id, change(item));
      };
    };
    return {
      downloads: {
        onCreated: created,
        onChanged: changed,
        onErased: erased,
        search: async ({ id }: { id: number }) => [this.items.get(id)].filter((item) => item),
        pause: act('pause', () => ({ paused: true })),
        resume: act('resume', () => ({ paused: false })),
        cancel: act('cancel', () => ({ state: 'interrupted', error: 'USER_CANCELED' })),
        erase: async ({ id }: { id: number }) => {
          this.done.push('erase');
          this.items.delete(id);
          erased.fire(id);
        },
      },
      webRequest: {
        OnSendHeadersOptions: this.#firefox ? {} : { EXTRA_HEADERS: 'extraHeaders' },
        onBeforeRequest: before,
        onSendHeaders: sent,
        onResponseStarted: answered,
      },
      storage: { local: this.local, session: this.session, onChanged: this.storageChanged },
    } as unknown as BrowserApi;
  }

  /** Makes a request that becomes a download. @returns the download's id */
  download(request: FakeRequest, more: Partial<DownloadItem> = {}): number {
    const { url, method = 'GET', redirect, sent, headers } = request;
    const id = this.#next++;
    const requestId = String(id);
    const { before, sent: sending, answered, created } = this.#events;
    before.fire({ requestId, method, url });
    sending.fire({ requestId, requestHeaders: fieldsOf(sent ?? {}) });
    if (redirect !== undefined) {
      before.fire({ requestId, method: 'GET', url: redirect });
      // Cookies belong to the first URL.
      const { Cookie: _, ...others } = sent ?? {};
      sending.fire({ requestId, requestHeaders: fieldsOf(others) });
    }
    answered.fire({ requestId, statusCode: 200, responseHeaders: fieldsOf(headers) });
    const last = redirect ?? url;
    const filename = '/downloads/file.bin';
    const item = {
      id,
      startTime: new Date().toISOString(),
      state: 'in_progress',
      paused: false,
      incognito: false,
      referrer: '',
      totalBytes: Number(headers['Content-Length'] ?? -1),
      // Firefox knows only the last URL, but the file name at once.
      ...(this.#firefox
        ? { url: last, filename }
        : { url, finalUrl: last, filename: '', danger: 'safe' }),
      ...more,
    } as unknown as DownloadItem;
    this.items.set(id, item);
    created.fire(structuredClone(item));
    if (!this.#firefox) this.change(id, { filename });
    return id;
  }

  change(id: number, change: Partial<DownloadItem>): void {
    const item = this.items.get(id);
    if (item === undefined) return;
    this.items.set(id, { ...item, ...change });
    const delta = Object.entries(change).map(([name, current]) => [name, { current }]);
    this.#events.changed.fire({ id, ...Object.fromEntries(delta) });
  }
}
