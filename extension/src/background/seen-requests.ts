/** Observes the browser's requests, and changes none of them. */

import type { BrowserApi } from '../browser/api.ts';
import { type Published, Publishers } from '../intercept/publishers.ts';
import { RequestLog, type SeenRequest } from '../intercept/request-log.ts';

const REQUESTS = 'requests';
const PUBLISHERS = 'publishers';
/** Types of requests that downloads can have: pages, frames, or no known kind. */
const TYPES = ['main_frame', 'sub_frame', 'other'];
/**
 * Longest wait for a download's request, ms: the browser may report the download before the answer.
 */
const WAIT_MS = 1000;
/** Media types that browsers show instead of saving. */
const SHOWN = /^(?:text\/(?:html|css|javascript)|application\/xhtml\+xml|image\/)/i;

export class SeenRequests {
  readonly #session: BrowserApi['storage']['session'];
  #log = new RequestLog();
  #publishers = new Publishers();
  readonly ready: Promise<void>;
  readonly #waiting = new Set<() => void>();

  /** Must be called while the background's script runs for the first time. */
  constructor(api: BrowserApi) {
    this.#session = api.storage.session;
    this.ready = this.#load();
    this.#listen(api.webRequest);
  }

  /** Returns the request of a download. @param url URL after all redirects */
  async find(url: string): Promise<SeenRequest | undefined> {
    await this.ready;
    const until = Date.now() + WAIT_MS;
    for (;;) {
      const found = this.#log.find(url, Date.now());
      const left = until - Date.now();
      if (found !== undefined || left <= 0) return found;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /**
   * Returns the edges that pages of a URL's own origin have named, or an answer with a file of it.
   */
  async edgesOf(url: string): Promise<Published> {
    await this.ready;
    return this.#publishers.edgesOf(url);
  }

  async #load(): Promise<void> {
    const stored = await this.#session.get([REQUESTS, PUBLISHERS]).catch(() => ({}));
    const { requests = [], publishers = [] } = stored as {
      requests?: SeenRequest[];
      publishers?: [string, Published][];
    };
    this.#log = new RequestLog([...requests, ...this.#log.all]);
    this.#publishers = new Publishers([...publishers, ...this.#publishers.all]);
  }

  #listen(webRequest: BrowserApi['webRequest']): void {
    const filter = { urls: ['http://*/*', 'https://*/*'], types: TYPES } as never;
    // Chromium hides some fields unless this option is given; Firefox does not know the option.
    const extra = 'EXTRA_HEADERS' in webRequest.OnSendHeadersOptions ? ['extraHeaders'] : [];
    webRequest.onBeforeRequest.addListener(({ requestId, method, url, type }) => {
      this.#log.began(requestId, method, url, Date.now(), type === 'sub_frame');
      return undefined;
    }, filter);
    webRequest.onSendHeaders.addListener(
      ({ requestId, requestHeaders }) => this.#log.sent(requestId, requestHeaders, Date.now()),
      filter,
      ['requestHeaders', ...extra] as never,
    );
    webRequest.onResponseStarted.addListener(
      ({ requestId, statusCode, responseHeaders, ip }) => {
        this.#log.answered(requestId, statusCode, responseHeaders, Date.now(), ip);
        this.#onAnswer(requestId);
      },
      filter,
      ['responseHeaders', ...extra] as never,
    );
  }

  #onAnswer(id: string): void {
    const request = this.#log.get(id);
    if (request === undefined) return;
    if (this.#publishers.answered(request)) {
      void this.#session.set({ [PUBLISHERS]: this.#publishers.all });
    }
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    const type = request.answer?.headers['content-type'] ?? '';
    const attached = request.answer?.headers['content-disposition'] !== undefined;
    if (request.answer?.status !== 200 || (SHOWN.test(type) && !attached)) return;
    // The background may end before the browser tells of the download.
    void this.#session.set({ [REQUESTS]: this.#log.all.filter(({ answer }) => answer).slice(-20) });
  }
}
