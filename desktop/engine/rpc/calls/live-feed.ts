/**
 * Sends changes to pages, at most four times a second and only if there are any: rows of the list
 * as patches, totals, settings, and the detail that each page has open.
 */

import type { Millis } from '@millrace/shared/base/clock';
import {
  type LiveUpdate,
  ON_UPDATE,
  type RowPatch,
  type WatchResult,
} from '@millrace/shared/bridge/rpc/live-api';
import { figuresOf } from '@millrace/shared/bridge/rpc/row-patch';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import type { Manager } from '../../downloads/manager.ts';
import type { ManagerEvent } from '../../queue/records.ts';
import type { ShareList } from '../../shares/share-list.ts';
import type { DownloadLogs } from '../../views/download-logs.ts';
import { type Counts, countsOf, totalsOf } from '../../views/totals.ts';
import { viewOf } from '../../views/view.ts';
import { DetailCursor } from './detail-cursor.ts';
import type { Subscriber } from './dispatcher.ts';

export interface LiveFeedOptions {
  readonly manager: Manager;
  readonly downloadLogs: DownloadLogs;
  readonly shares: Pick<ShareList, 'listen' | 'view'>;
  readonly settings: () => AppSettings;
  /** Monotonic milliseconds. */
  readonly clock: () => Millis;
}

const INTERVAL_MS = 250;
/** Most rows in one update; a page reads more of them faster as a list than as patches. */
const MAX_ROWS = 500;
const MAX_NOTES = 50;

interface Watcher {
  readonly list: boolean;
  readonly detail: DetailCursor | undefined;
  /** True after updates were left out because the client had too much unread data. */
  missed: boolean;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #watchers = new Map<Subscriber, Watcher>();
  readonly #known = new WeakSet<Subscriber>();
  readonly #stopListening: readonly (() => void)[];
  /** The fields that decide a download's place in the lists, joined as text, by gid. */
  readonly #places = new Map<string, string>();
  readonly #changed = new Set<string>();
  readonly #gone = new Set<string>();
  readonly #sharesChanged = new Set<string>();
  #notes: { gid: string; text: string }[] = [];
  #settingsChanged = false;
  /** Figures of each running download as last sent, as JSON, by gid. */
  readonly #figures = new Map<string, string>();
  #totals = '';
  #samples = 0;
  #revision = 1;
  #counts: Counts | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sentAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
    this.#stopListening = [
      options.manager.listen((event) => this.#onEvent(event)),
      options.shares.listen((id) => this.#onShare(id)),
    ];
  }

  /** Number that rises when a list may have other downloads or another order. */
  get revision(): number {
    return this.#revision;
  }

  /** Starts sending updates to a client. @param detail full gid of a download */
  watch(
    subscriber: Subscriber,
    { list, detail, cells }: { list: boolean; detail: string | undefined; cells: number },
  ): WatchResult {
    const { manager, downloadLogs, settings } = this.#options;
    const cursor = detail === undefined ? undefined : new DetailCursor(detail, cells);
    if (!this.#known.has(subscriber)) {
      this.#known.add(subscriber);
      subscriber.onClosed(() => this.unwatch(subscriber));
    }
    this.#watchers.set(subscriber, { list, detail: cursor, missed: false });
    this.#arm();
    return {
      revision: this.#revision,
      totals: totalsOf(manager, this.#countsNow()),
      settings: settings(),
      speed: downloadLogs.speed.since(),
      detail: cursor?.first(manager, downloadLogs),
    };
  }

  unwatch(subscriber: Subscriber): void {
    this.#watchers.delete(subscriber);
    if (this.#watchers.size === 0) this.#forgetChanges();
  }

  close(): void {
    for (const stop of this.#stopListening) stop();
    clearTimeout(this.#timer);
    this.#watchers.clear();
  }

  #onEvent(event: ManagerEvent): void {
    if (event.kind === 'changed') this.#onChanged(event.gid);
    else if (event.kind === 'forgotten') {
      this.#bump();
      for (const gid of event.gids) {
        this.#places.delete(gid);
        if (this.#watchers.size > 0) this.#gone.add(gid);
      }
    } else if (event.kind === 'settings') this.#settingsChanged = true;
    else if (event.kind === 'trash') this.#bump();
    else if (event.kind === 'note' && this.#watchers.size > 0) {
      const { gid, text } = event;
      if (this.#notes.length < MAX_NOTES) this.#notes.push({ gid, text });
    }
    this.#arm();
  }

  #onShare(id: string): void {
    if (this.#watchers.size === 0) return;
    this.#sharesChanged.add(id);
    this.#arm();
  }

  #onChanged(gid: string): void {
    const record = this.#options.manager.find(gid);
    if (record === undefined) {
      this.#places.delete(gid);
      this.#bump();
    } else {
      const { state, priority, rank, name, category } = record;
      const place = [state, priority, rank, category, name].join('|');
      if (this.#places.get(gid) !== place) this.#bump();
      this.#places.set(gid, place);
    }
    if (this.#watchers.size === 0) return;
    this.#changed.add(gid);
    this.#gone.delete(gid);
  }

  #bump(): void {
    this.#revision++;
    this.#counts = undefined;
  }

  #countsNow(): Counts {
    this.#counts ??= countsOf(this.#options.manager);
    return this.#counts;
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#watchers.size === 0) return;
    const wait = Math.max(0, this.#sentAt + INTERVAL_MS - this.#options.clock());
    this.#timer = setTimeout(() => this.#flush(), wait);
  }

  #flush(): void {
    this.#timer = undefined;
    this.#sentAt = this.#options.clock();
    const update = this.#update();
    for (const [subscriber, watcher] of this.#watchers) this.#send(subscriber, watcher, update);
    this.#forgetChanges();
    // The figures of running downloads always change.
    if (this.#options.manager.queue.active.length > 0) this.#arm();
  }

  #send(subscriber: Subscriber, watcher: Watcher, update: LiveUpdate | undefined): void {
    if (subscriber.congested?.() === true) {
      watcher.missed = true;
      return;
    }
    const { manager, downloadLogs } = this.#options;
    const detail = watcher.detail?.next(manager, downloadLogs);
    const shared = watcher.list ? update : undefined;
    if (shared === undefined && detail === undefined && !watcher.missed) return;
    const own: LiveUpdate = {
      revision: this.#revision,
      ...shared,
      ...(detail === undefined ? {} : { detail }),
      ...(watcher.missed ? { incomplete: true, settings: this.#options.settings() } : {}),
    };
    watcher.missed = false;
    subscriber.send(ON_UPDATE, [own]);
  }

  /** Makes the update for all pages; undefined if nothing has changed. */
  #update(): LiveUpdate | undefined {
    const { manager, downloadLogs, settings } = this.#options;
    const update: Mutable<LiveUpdate> = { revision: this.#revision };
    if (this.#changed.size > MAX_ROWS) update.incomplete = true;
    const rows = [...this.#rows(update.incomplete === true)];
    if (rows.length > 0) update.rows = rows;
    if (this.#gone.size > MAX_ROWS) update.incomplete = true;
    else if (this.#gone.size > 0) update.gone = [...this.#gone];
    if (this.#notes.length > 0) update.notes = this.#notes;
    this.#addShares(update);
    if (this.#settingsChanged) update.settings = settings();
    const totals = totalsOf(manager, this.#countsNow());
    const text = JSON.stringify(totals);
    if (text !== this.#totals) update.totals = totals;
    this.#totals = text;
    const { count } = downloadLogs.speed;
    if (count > this.#samples) update.newSpeed = downloadLogs.speed.since(this.#samples);
    this.#samples = count;
    return Object.keys(update).length > 1 ? update : undefined;
  }

  #addShares(update: Mutable<LiveUpdate>): void {
    const { shares } = this.#options;
    const ids = [...this.#sharesChanged];
    const views = ids.flatMap((id) => shares.view(id) ?? []);
    const gone = ids.filter((id) => shares.view(id) === undefined);
    if (views.length > 0) update.shares = views;
    if (gone.length > 0) update.goneShares = gone;
  }

  *#rows(onlyFigures: boolean): Generator<RowPatch> {
    const { manager } = this.#options;
    if (!onlyFigures) {
      for (const gid of this.#changed) {
        const row = this.#view(gid);
        if (row !== undefined) yield row;
      }
    }
    const active = new Set(manager.queue.active.map(({ gid }) => gid));
    for (const gid of this.#figures.keys()) if (!active.has(gid)) this.#figures.delete(gid);
    for (const gid of active) {
      const row = this.#view(gid);
      if (row === undefined) continue;
      const figures = figuresOf(row);
      const text = JSON.stringify(figures);
      const isNew = this.#figures.get(gid) !== text;
      this.#figures.set(gid, text);
      if (isNew && (onlyFigures || !this.#changed.has(gid))) yield figures;
    }
  }

  #view(gid: string) {
    try {
      return viewOf(this.#options.manager, this.#options.manager.get(gid));
    } catch {
      return undefined; // deleted meanwhile
    }
  }

  #forgetChanges(): void {
    this.#changed.clear();
    this.#gone.clear();
    this.#sharesChanged.clear();
    this.#notes = [];
    this.#settingsChanged = false;
  }
}
