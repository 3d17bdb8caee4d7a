/**
 * Turns the browser's downloads into hand-offs: decides on each download, and acts on the decision.
 */

import type { BrowserApi } from '../browser/api.ts';
import { type DownloadItem, nameOf, refOf } from '../browser/downloads.ts';
import type { Settings } from '../contract/settings.ts';
import type { TakerKind } from '../contract/taker.ts';
import type { HandOffs } from '../hand-off/hand-offs.ts';
import { type BegunDownload, type Decision, decide } from '../intercept/decision.ts';
import { hostOf } from '../intercept/hosts.ts';
import { isInsecure } from '../intercept/insecure.ts';
import type { AskerFields } from './asker-fields.ts';
import { chosenEdges } from './chosen-edges.ts';
import type { EdgeCheck } from './edge-check.ts';
import type { KeptSettings } from './kept-settings.ts';
import type { KeptUnfinished } from './kept-unfinished.ts';
import type { SeenRequests } from './seen-requests.ts';
import type { Skipping } from './skipping.ts';

export interface InterceptorParts {
  readonly handOffs: HandOffs;
  readonly settings: KeptSettings;
  readonly skipping: Skipping;
  readonly seen: SeenRequests;
  readonly check: EdgeCheck;
  readonly asker: AskerFields;
  readonly unfinished: Pick<KeptUnfinished, 'ready' | 'has'>;
  /**
   * Whether the browser asks the user about files without TLS; it asks only about files that it
   * fetches itself.
   */
  readonly asksAboutInsecure: boolean;
  /** Resolves when the hand-offs of an earlier background have been read. */
  readonly ready: Promise<void>;
}

type Taken = Extract<Decision, { take: true }>;

/** Longest wait for a file name, ms: the browser may be asking the user for one. */
const NAME_MS = 30_000;

export class Interceptor {
  readonly #downloads: BrowserApi['downloads'];
  readonly #p: InterceptorParts;
  /**
   * Downloads without a file name so far, by id. `skipped`: the user wants the download left alone.
   */
  readonly #nameless = new Map<number, { readonly skipped: boolean; readonly at: number }>();

  /** Must be called while the background's script runs for the first time. */
  constructor(api: BrowserApi, parts: InterceptorParts) {
    this.#downloads = api.downloads;
    this.#p = parts;
    api.downloads.onCreated.addListener((item) => void this.#onCreated(item));
    api.downloads.onChanged.addListener((delta) => void this.#onChanged(delta));
    api.downloads.onErased.addListener((id) => {
      this.#nameless.delete(id);
      void parts.ready.then(() => parts.handOffs.changed(id));
    });
  }

  async #onCreated(item: DownloadItem): Promise<void> {
    const { skipping, settings } = this.#p;
    await Promise.all([skipping.ready, settings.ready]);
    const ours =
      item.byExtensionId === undefined && hostOf(item.finalUrl || item.url) !== undefined;
    const skipped = ours && skipping.take(Date.now());
    if (!ours) return;
    for (const [id, { at }] of this.#nameless) {
      if (Date.now() - at > NAME_MS) this.#nameless.delete(id);
    }
    // Chromium chooses the file name a little later, or asks the user for one. Until then the
    // download must not be paused, or it would wait for both.
    this.#nameless.set(item.id, { skipped, at: Date.now() });
    const [now] = await this.#downloads.search({ id: item.id });
    if (now !== undefined && now.filename !== '') await this.#onNamed(now);
  }

  async #onChanged({
    id,
    filename,
  }: {
    id: number;
    filename?: { current?: string };
  }): Promise<void> {
    if (filename?.current && this.#nameless.has(id)) {
      const [item] = await this.#downloads.search({ id });
      if (item !== undefined) await this.#onNamed(item);
    }
    await this.#p.ready;
    await this.#p.handOffs.changed(id);
  }

  async #onNamed(item: DownloadItem): Promise<void> {
    const nameless = this.#nameless.get(item.id);
    // Another handler already took this download.
    if (!this.#nameless.delete(item.id) || nameless === undefined) return;
    const settings = this.#p.settings.now;
    const { unfinished } = this.#p;
    await unfinished.ready;
    const continues = (fileName: string, length: number) => unfinished.has(fileName, length);
    const circumstances = { now: Date.now(), settings, skipped: nameless.skipped, continues };
    const begun = begunDownload(item);
    // Most downloads are left alone whatever their requests were, so decide without the wait first.
    const first = decide(begun, undefined, circumstances);
    if (!first.take && first.why !== 'unseen') return;
    const decision = decide(begun, await this.#p.seen.find(begun.finalUrl), circumstances);
    if (decision.take) await this.#begin(item, decision, settings);
  }

  async #begin(
    item: DownloadItem,
    { draft, hops, answer }: Taken,
    settings: Settings,
  ): Promise<void> {
    const { seen, check, asker, handOffs, asksAboutInsecure, ready } = this.#p;
    await ready;
    const requests = await Promise.all(
      hops.map(async ({ url, headers: shown = {} }) => {
        const known = Object.keys(shown).length > 0;
        return { url, headers: known ? shown : await asker.of(url, item.referrer) };
      }),
    );
    const headers = requests[0]?.headers ?? draft.headers;
    const all = [...requests, { url: draft.finalUrl, answer }];
    const insecure = asksAboutInsecure && isInsecure([item.url, ...all.map(({ url }) => url)]);
    const takers = takersOf(settings).filter(
      (kind) => kind !== 'browser' || settings.takeInsecure || !insecure,
    );
    if (takers.length === 0) return;
    const chosen = await chosenEdges({ seen, check }, draft.url, all, settings);
    const download = refOf(item);
    const place = download.path === undefined ? {} : { path: download.path };
    const offer = { ...draft, ...place, headers, ...chosen, handOff: crypto.randomUUID() };
    await handOffs.begin(offer, download, takers);
  }
}

/**
 * Returns the takers that a download is offered to, in order. The browser keeps what they refuse.
 */
export function takersOf({ taker }: Settings): readonly TakerKind[] {
  return taker === 'auto' ? ['desktop', 'browser'] : [taker];
}

function begunDownload(item: DownloadItem): BegunDownload {
  return {
    url: item.url,
    // Firefox has only `url`, which is the last one.
    finalUrl: item.finalUrl || item.url,
    fileName: nameOf(item),
    length: item.totalBytes > 0 ? item.totalBytes : undefined,
    begunAt: Date.parse(item.startTime),
    running: item.state === 'in_progress' && !item.paused,
    private: item.incognito,
    byExtension: item.byExtensionId !== undefined,
    // Firefox does not report danger.
    dangerous: (item.danger ?? 'safe') !== 'safe' && item.danger !== 'accepted',
  };
}
