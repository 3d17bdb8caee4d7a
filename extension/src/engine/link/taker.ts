/**
 * The taker in the extension itself, from the background's side. The engine runs elsewhere and
 * continues without the background; its orders for the browser's downloads are carried out here.
 */

import type { BrowserApi } from '../../browser/api.ts';
import {
  type AddedLink,
  type DownloadCommand,
  type Offer,
  type OfferState,
  type ShownDownload,
  type Taker,
  type TakerDownloads,
  TakerError,
} from '../../contract/taker.ts';
import { Saver } from '../downloads/saver.ts';
import { isUnfinished, takenBy } from '../records/record.ts';
import { StoredRecords } from '../records/record-database.ts';
import { shown } from '../records/shown.ts';
import { EngineClient } from './client.ts';
import { type EngineHost, OffscreenHost, PageHost } from './link.ts';

export class BrowserTaker implements Taker, TakerDownloads {
  readonly kind = 'browser';
  readonly #api: BrowserApi;
  readonly #client: EngineClient;
  readonly #saver: Saver;
  readonly #listeners = new Set<() => void>();

  /**
   * Must be called while the background's script runs for the first time: it adds listeners for
   * events that may have woken the background.
   */
  constructor(api: BrowserApi, host: EngineHost = hostIn(api)) {
    this.#api = api;
    this.#client = new EngineClient(host, (message) => {
      if (message.event === 'save') this.#saver.save(message.save);
      else if (message.event === 'changed') for (const listener of this.#listeners) listener();
    });
    const client = this.#client;
    this.#saver = new Saver(api.downloads, api.runtime.id, {
      saving: (id, url, downloadId) => client.call({ type: 'saving', id, url, downloadId }),
      saved: (id, file) => client.call({ type: 'saved', id, file }),
      notSaved: (id, code, message) => client.call({ type: 'not-saved', id, code, message }),
    });
    api.downloads.onChanged.addListener((delta) => this.#saver.onChanged(delta));
    // Without this listener, the browser would not start the background when it starts itself.
    api.runtime.onStartup.addListener(() => {});
  }

  /** Continues unfinished work; to be called whenever the background starts. */
  async start(): Promise<void> {
    if (await this.#client.runs()) return this.#client.connect();
    if ((await readRecords()).some(isUnfinished)) await this.#client.connect();
  }

  async offer(offer: Offer, signal: AbortSignal): Promise<void> {
    const { handOff } = offer;
    const given = new TakerError('failed', 'The offer was given up');
    if (signal.aborted) throw given;
    const onAbort = () => void this.withdraw(handOff);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#client.call({ type: 'offer', offer });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    if (signal.aborted) throw given;
  }

  async commit(handOff: string): Promise<string> {
    return (await this.#client.call({ type: 'commit', handOff })).id;
  }

  async withdraw(handOff: string): Promise<void> {
    if (!(await this.#client.runs().catch(() => false))) return;
    await this.#client.call({ type: 'withdraw', handOff }).catch(() => {});
  }

  async stateOf(handOff: string): Promise<OfferState> {
    if (await this.#client.runs()) return this.#client.call({ type: 'offerState', handOff });
    const taken = takenBy(await readRecords(), handOff);
    return taken === undefined ? { state: 'unknown' } : { state: 'committed', id: taken.id };
  }

  async list(): Promise<readonly ShownDownload[]> {
    if (await this.#client.runs()) return (await this.#client.call({ type: 'list' })).downloads;
    const records = await readRecords();
    return records
      .toSorted((a, b) => b.createdAt - a.createdAt)
      .map((record) => shown(record, undefined));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async command(id: string, command: DownloadCommand): Promise<void> {
    if (command === 'open' || command === 'show') return this.#show(id, command);
    await this.#client.call({ type: 'command', id, command });
    if (command === 'remove') await this.#saver.leave(id);
  }

  /** Removes a download. One that was there before the hand-off only stops. @throws TakerError */
  async discard(id: string): Promise<void> {
    const record = (await readRecords()).find((one) => one.id === id);
    if (record?.renewedBy === undefined) return this.command(id, 'remove');
    if (record.state === 'queued') await this.command(id, 'pause');
  }

  async add(links: readonly AddedLink[]): Promise<readonly string[]> {
    return (await this.#client.call({ type: 'add', links: [...links] })).ids;
  }

  async #show(id: string, command: 'open' | 'show'): Promise<void> {
    const record = (await readRecords()).find((one) => one.id === id);
    const downloadId = record?.state === 'complete' ? record.save?.downloadId : undefined;
    const { downloads } = this.#api;
    const [item] = downloadId === undefined ? [] : await downloads.search({ id: downloadId });
    if (item === undefined || item.exists === false) {
      throw new TakerError('failed', 'The browser does not know where the file is');
    }
    if (command === 'open') {
      try {
        return await downloads.open(item.id);
      } catch {
        // Opening takes another permission, and a click in the page that asks. Show the folder
        // instead.
      }
    }
    downloads.show(item.id);
  }
}

const hostIn = (api: BrowserApi): EngineHost =>
  api.offscreen === undefined ? new PageHost(api) : new OffscreenHost(api);

async function readRecords() {
  const records = await StoredRecords.open();
  try {
    return await records.all();
  } finally {
    records.close();
  }
}
