/** From the browser's downloads to hand-offs: asks the decision, and carries it out. */

import type { BrowserApi } from '../browser/api.ts';
import { type DownloadItem, refOf } from '../browser/downloads.ts';
import type { HandOffs } from '../hand-off/hand-offs.ts';
import { type BegunDownload, type Decision, decide } from '../intercept/decision.ts';
import { edgesFor } from '../intercept/edges.ts';
import { hostOf } from '../intercept/hosts.ts';
import type { Settings } from '../settings.ts';
import type { TakerKind } from '../taker.ts';
import type { AskerFields } from './asker-fields.ts';
import type { KeptSettings } from './kept-settings.ts';
import type { SeenRequests } from './seen-requests.ts';
import type { Skipping } from './skipping.ts';

export interface InterceptorParts {
  readonly handOffs: HandOffs;
  readonly settings: KeptSettings;
  readonly skipping: Skipping;
  readonly seen: SeenRequests;
  readonly asker: AskerFields;
  /**
   * False in Firefox, which closes the connection of a download that is paused, and asks again when
   * it goes on: a server that cannot go on in the middle would have lost it. There it goes on.
   */
  readonly pauses: boolean;
  /** Resolves when hand-offs of an earlier background have been read. */
  readonly ready: Promise<void>;
}

type Taken = Extract<Decision, { take: true }>;

/** Names are waited for no longer: whoever is asked for one may take their time. */
const NAME_MS = 30_000;

export class Interceptor {
  readonly #downloads: BrowserApi['downloads'];
  readonly #p: InterceptorParts;
  /** Downloads without a name so far, with whether the user wants them left alone. */
  readonly #nameless = new Map<number, { readonly skipped: boolean; readonly at: number }>();

  /** To be made while the background's script runs for the first time. */
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
    // Chromium makes up its mind about the name a little later, or asks the user for one: until
    // then it is not paused, or it would wait for both.
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
    // Somebody else was quicker.
    if (!this.#nameless.delete(item.id) || nameless === undefined) return;
    const settings = this.#p.settings.now;
    const circumstances = { now: Date.now(), settings, skipped: nameless.skipped };
    const begun = begunDownload(item);
    // Most downloads are left alone whatever their requests were: nothing is waited for then.
    const first = decide(begun, undefined, circumstances);
    if (!first.take && first.why !== 'unseen') return;
    const decision = decide(begun, await this.#p.seen.find(begun.finalUrl), circumstances);
    if (decision.take) await this.#begin(item, decision, settings);
  }

  async #begin(item: DownloadItem, { draft, hops }: Taken, settings: Settings): Promise<void> {
    const { seen, asker, handOffs, pauses, ready } = this.#p;
    await ready;
    const requests = await Promise.all(
      hops.map(async ({ url, headers: shown = {} }) => {
        const known = Object.keys(shown).length > 0;
        return { url, headers: known ? shown : await asker.of(url, item.referrer) };
      }),
    );
    const headers = requests[0]?.headers ?? draft.headers;
    const published = await seen.edgesOf(draft.url);
    const edges = edgesFor([...requests, { url: draft.finalUrl }], settings, published);
    const offer = { ...draft, headers, edges, handOff: crypto.randomUUID() };
    await handOffs.begin(offer, refOf(item), takersOf(settings), pauses);
  }
}

export function takersOf({ taker }: Settings): readonly TakerKind[] {
  return taker === 'auto' ? ['desktop', 'browser'] : [taker];
}

function begunDownload(item: DownloadItem): BegunDownload {
  return {
    url: item.url,
    // Firefox has the last one only.
    finalUrl: item.finalUrl || item.url,
    fileName: item.filename.split(/[/\\]/).at(-1) ?? '',
    length: item.totalBytes > 0 ? item.totalBytes : undefined,
    begunAt: Date.parse(item.startTime),
    running: item.state === 'in_progress' && !item.paused,
    private: item.incognito,
    byExtension: item.byExtensionId !== undefined,
    // Firefox says nothing of it.
    dangerous: (item.danger ?? 'safe') !== 'safe' && item.danger !== 'accepted',
  };
}
