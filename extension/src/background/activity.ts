/**
 * Watches downloads for the badge, notifications and pages. It listens to the desktop while a page
 * watches or a download runs; after that it closes the connection, so that the background can end. A
 * daemon on another machine is asked at intervals instead.
 */

import type { BrowserApi } from '../browser/api.ts';
import type { ShownDownload, TakerKind } from '../contract/taker.ts';
import type { Takers } from './takers.ts';

const KEY = 'running';
/** Delay after a change before the downloads are listed, ms; it covers all changes meanwhile. */
const GATHER_MS = 250;
/** Time that the connection to the desktop stays open once nobody needs it any more, ms. */
const LINGER_MS = 15_000;
/** Interval at which another machine is asked, ms: while a page watches, and otherwise. */
const ASK_MS = { watched: 2000, alone: 10_000 };

const RUNNING: ReadonlySet<ShownDownload['status']> = new Set(['active', 'queued', 'waiting']);

export interface ActivityOptions {
  readonly api: BrowserApi;
  readonly takers: Takers;
  /** Whether hand-offs are under way; they need the connection to the desktop. */
  readonly isBusy: () => boolean;
  readonly isOn: () => boolean;
  /** Whether downloads go to a daemon on another machine. */
  readonly isRemote: () => boolean;
  readonly onEnded: (download: ShownDownload) => void;
  /** Called with the downloads of the takers that have answered. */
  readonly onListed: (downloads: readonly ShownDownload[], takers: readonly TakerKind[]) => void;
}

export class Activity {
  readonly #options: ActivityOptions;
  readonly #ports = new Set<chrome.runtime.Port>();
  #running = new Map<string, ShownDownload>();
  /**
   * Keys (taker and id) of the downloads that ran at the last look, perhaps seen by an earlier
   * background.
   */
  #ran: Promise<ReadonlySet<string>>;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #closing: ReturnType<typeof setTimeout> | undefined;
  #asking: ReturnType<typeof setTimeout> | undefined;

  /** Must be called while the background's script runs for the first time. */
  constructor(options: ActivityOptions) {
    this.#options = options;
    const { api, takers } = options;
    takers.get('desktop').onChange(() => this.changed());
    takers.get('browser').onChange(() => this.changed());
    api.runtime.onConnect.addListener((port) => {
      if (port.name !== 'watch' || port.sender?.id !== api.runtime.id) return;
      this.#ports.add(port);
      port.onDisconnect.addListener(() => {
        this.#ports.delete(port);
        this.changed();
      });
      this.changed();
    });
    this.#ran = api.storage.session.get(KEY).then((stored) => {
      const ran = new Set<string>(Array.isArray(stored[KEY]) ? stored[KEY] : []);
      // An earlier background ended while downloads ran.
      if (ran.size > 0) this.changed();
      return ran;
    });
  }

  /** Tells watchers of a possible change and updates the badge, both after a short delay. */
  changed(): void {
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      for (const port of this.#ports) port.postMessage({ changed: true });
      void this.#look();
    }, GATHER_MS);
  }

  /** Sets the badge and the title of the toolbar button. */
  async show(): Promise<void> {
    const { api, isOn } = this.#options;
    const count = this.#running.size;
    const off = !isOn();
    const idle = off ? api.i18n.getMessage('badgePaused') : '';
    await api.action.setBadgeText({ text: count > 0 ? String(count) : idle });
    await api.action.setBadgeBackgroundColor({ color: off ? '#6b7280' : '#2563eb' });
    const title = off
      ? api.i18n.getMessage('actionTitleOff')
      : api.i18n.getMessage('actionTitle', [this.#progress()]);
    await api.action.setTitle({ title });
  }

  /** Returns the number of running downloads, and their common progress in percent if known. */
  #progress(): string {
    const downloads = [...this.#running.values()];
    const known = downloads.filter(({ length }) => length !== undefined);
    const all = known.reduce((sum, { length = 0 }) => sum + length, 0);
    const stored = known.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
    const share = all === 0 ? '' : ` (${Math.floor((100 * stored) / all)} %)`;
    return `${downloads.length}${share}`;
  }

  async #look(): Promise<void> {
    const { takers, onEnded, api } = this.#options;
    const asked = (['desktop', 'browser', 'remote'] as const).filter((kind) => this.#isAsked(kind));
    const downloads = await takers.list(asked);
    // Downloads of another machine that does not answer are not over.
    const isSilent = takers.remote.link.problem !== undefined;
    const kinds = asked.filter((kind) => kind !== 'remote' || !isSilent);
    this.#options.onListed(downloads, kinds);
    const before = await this.#ran;
    this.#running = new Map(
      downloads.filter(({ status }) => RUNNING.has(status)).map((one) => [keyOf(one), one]),
    );
    const notAsked = [...before].filter((key) => !kinds.some((kind) => key.startsWith(`${kind} `)));
    const running = new Set([...this.#running.keys(), ...notAsked]);
    this.#ran = Promise.resolve(running);
    // Stored before the notification: a background that ends in between must not notify twice.
    if (!sameMembers(running, before)) await api.storage.session.set({ [KEY]: [...running] });
    for (const download of downloads) {
      const ended = download.status === 'complete' || download.status === 'error';
      if (ended && before.has(keyOf(download))) onEnded(download);
    }
    await this.show().catch(() => {});
    this.#listen(this.#running.size > 0 || this.#ports.size > 0);
    this.#askLater([...running].some((key) => key.startsWith('remote ')));
  }

  /** Has the daemon of another machine asked again, unless nobody waits for its answer. */
  #askLater(isRunning: boolean): void {
    clearTimeout(this.#asking);
    const { takers, isRemote } = this.#options;
    if (!isRemote()) return;
    const isWatched = this.#ports.size > 0;
    // A machine that is off is asked again only once a page watches, or a download goes there.
    if (!isWatched && (!isRunning || takers.remote.link.problem !== undefined)) return;
    const ms = isWatched ? ASK_MS.watched : ASK_MS.alone;
    this.#asking = setTimeout(() => this.changed(), ms);
  }

  /** Whether to list a taker's downloads. The desktop's engine is not started just to list them. */
  #isAsked(kind: TakerKind): boolean {
    const { takers, isRemote } = this.#options;
    if (kind === 'browser') return true;
    if (kind === 'remote') return isRemote();
    return takers.desktop.link.connected || (this.#ports.size > 0 && !isRemote());
  }

  #listen(needed: boolean): void {
    const { link } = this.#options.takers.desktop;
    clearTimeout(this.#closing);
    if (needed && !this.#options.isRemote()) return void link.watch(true).catch(() => {});
    this.#closing = setTimeout(() => {
      if (this.#options.isBusy()) return this.#listen(false);
      void link.watch(false).catch(() => {});
      link.close();
    }, LINGER_MS);
  }
}

const keyOf = ({ taker, id }: ShownDownload) => `${taker} ${id}`;

function sameMembers(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((key) => other.has(key));
}
