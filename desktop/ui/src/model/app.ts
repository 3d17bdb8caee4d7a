/** The shell around the interface's state: listens to the daemon and reads the data to show. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { type LiveUpdate, ON_UPDATE } from '@millrace/shared/bridge/rpc/live-api';
import { applyRowPatch } from '@millrace/shared/bridge/rpc/row-patch';
import type { AppSettings, SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';
import { Changes } from '../api/changes.ts';
import { CallError, Connection, type LinkState } from '../api/connection.ts';
import { Text } from '../text/text.ts';
import { type AppState, FIRST_STATE } from './app-state.ts';
import { appendSpeed, patchDetail } from './detail.ts';
import { isShown, queryOf, showsOthers, type View } from './filter.ts';
import {
  PAGE_ROWS,
  PageReads,
  pagesToRead,
  stale,
  withFirstPage,
  withPage,
  withRevision,
} from './list-window.ts';
import { NO_SELECTION, within, without } from './selection.ts';
import { withShares } from './shares/shares.ts';
import { Rows, Store } from './store.ts';
import { withoutToast, withToast } from './toasts.ts';

/** Interval, ms, at which lists that keep changing are read again. */
const REREAD_MS = 300;
const MAX_ROWS = 5000;
const MAP_CELLS = 1024;
/** Rows per call when all rows of a list are read. */
const BULK_ROWS = 1000;
const MAX_BULK = 20_000;
/** Interval, ms, at which lists ordered by ever-changing figures are read again. */
const REORDER_MS = 3000;
/** Message of the daemon's answer to calls without a session. */
const UNAUTHORIZED = 'Unauthorized';

export class App {
  readonly store = new Store<AppState>(FIRST_STATE);
  readonly rows = new Rows<DownloadView>();
  readonly connection: Connection;
  readonly changes = new Changes();
  #text = Text.for('system', navigator.languages);
  #visible = { first: 0, last: PAGE_ROWS - 1 };
  #query = 0;
  #reads = new PageReads();
  #rereadTimer: ReturnType<typeof setTimeout> | undefined;
  #lastToast = 0;

  constructor() {
    this.connection = new Connection({
      onOpen: () => void this.#open(),
      onState: (link) => this.#onLink(link),
      onNotification: (method, param) => {
        if (method === ON_UPDATE) this.#onUpdate(param as LiveUpdate);
      },
    });
    setInterval(() => this.#reorder(), REORDER_MS);
  }

  get state(): AppState {
    return this.store.get();
  }

  get text(): Text {
    return this.#text;
  }

  get call(): Connection['call'] {
    return this.connection.call.bind(this.connection);
  }

  /** Sets the visible rows, and reads their pages. */
  setVisible(first: number, last: number): void {
    this.#visible = { first, last };
    void this.#read(first, last);
  }

  /** Changes filter, order or words; the new list is shown once its first page is there. */
  async setView(view: View): Promise<void> {
    const query = ++this.#query;
    // The user must not change downloads that are selected but hidden.
    const selection = showsOthers(this.state.view, view) ? NO_SELECTION : this.state.selection;
    this.store.set({ view, sideOpen: false, selection, section: 'downloads' });
    await this.#readPage(0, query, true);
  }

  /** Makes sure that the rows between two places are loaded. */
  ensure(first: number, last: number): Promise<void> {
    return this.#read(Math.min(first, last), Math.max(first, last));
  }

  /** Reads all visible data again, at once. */
  renew(): Promise<void> {
    const { list } = this.state;
    this.#reads.outdate();
    this.store.set({ list: { ...list, pages: stale(list.pages) } });
    return this.#read(this.#visible.first, this.#visible.last);
  }

  /** Returns the downloads of the view, at most as many as one call takes. */
  async allGids(): Promise<string[]> {
    const gids: string[] = [];
    const query = queryOf(this.state.view);
    for (let total = 1; gids.length < Math.min(total, MAX_BULK); ) {
      const page = await this.call('millrace.list', {
        ...query,
        offset: gids.length,
        limit: BULK_ROWS,
      });
      total = page.total;
      if (page.downloads.length === 0) break;
      for (const row of page.downloads) {
        this.rows.set(row.gid, row);
        gids.push(row.gid);
      }
    }
    return gids;
  }

  /** Shows the details of a download, or of none. */
  async inspect(gid: string | undefined): Promise<void> {
    const { detail, inspected } = this.state;
    this.store.set({ inspected: gid, ...(detail?.gid === gid ? {} : { detail: undefined }) });
    if (this.state.link.kind !== 'open') return;
    if (gid === undefined && inspected === undefined) return;
    await this.#watchInspected(false).catch(() => undefined);
  }

  applySettings(settings: AppSettings): void {
    const text = Text.for(settings.language, navigator.languages);
    if (text.language !== this.#text.language) this.#text = text;
    this.store.set({ settings });
  }

  /** Shows parts of the settings that the daemon has told by themselves. */
  applyPart(part: Partial<AppSettings>): void {
    const { settings } = this.state;
    if (settings !== undefined) this.applySettings({ ...settings, ...part });
  }

  /**
   * Changes settings, after the changes before; a failure is shown.
   *
   * @param change what changes, or a function that tells it from the settings of that moment
   * @returns whether the change is stored
   */
  async changeSettings(
    change: SettingsChange | ((now: AppSettings | undefined) => SettingsChange),
  ): Promise<boolean> {
    const stored = await this.attempt(
      this.changes.inTurn(async () => {
        const asked = typeof change === 'function' ? change(this.state.settings) : change;
        this.applySettings(await this.call('millrace.setSettings', asked));
        return true;
      }),
    );
    return stored === true;
  }

  toast(
    text: string,
    more: { kind?: 'bad'; action?: { label: string; run: () => void } } = {},
  ): number {
    const toast = { id: ++this.#lastToast, kind: 'plain' as const, text, ...more };
    this.store.set({ toasts: withToast(this.state.toasts, toast) });
    return toast.id;
  }

  dismiss(id: number): void {
    this.store.set({ toasts: withoutToast(this.state.toasts, id) });
  }

  /** Returns words for the error of a call. */
  reason(error: unknown): string {
    if (!(error instanceof CallError))
      return error instanceof Error ? error.message : String(error);
    if (error.code === 'connection') return this.text.t('problem.connection');
    return this.text.why(error);
  }

  /** Waits for a call, and shows its failure. @returns undefined if it has failed */
  async attempt<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      this.toast(this.text.t('toast.failed', { why: this.reason(error) }), { kind: 'bad' });
      return undefined;
    }
  }

  async #open(): Promise<void> {
    try {
      await this.#watchInspected(true);
      await this.#readShares();
      this.#reads = new PageReads();
      // The daemon may be another one now, with another order.
      const { list } = this.state;
      this.store.set({ list: { ...list, revision: -1, pages: stale(list.pages) } });
      await this.#readPage(0, ++this.#query, !this.state.known);
      this.store.set({ known: true });
      await this.#read(this.#visible.first, this.#visible.last);
      await this.#checkSelection();
    } catch (error) {
      if (!(error instanceof CallError) || error.code === 'connection') return;
      if (error.message === UNAUTHORIZED) {
        this.connection.close();
        this.store.set({ link: { kind: 'logged-out' } });
      } else this.store.set({ listState: { failed: this.reason(error) } });
    }
  }

  /**
   * Watches the inspected download; shows no details any more if it does not exist.
   *
   * @param anew true to read its row although there is one, which may be old
   */
  async #watchInspected(anew: boolean): Promise<void> {
    const { inspected } = this.state;
    try {
      // The row may be in no page of the list that is read.
      if (inspected !== undefined && (anew || this.rows.get(inspected) === undefined)) {
        this.rows.set(inspected, await this.call('millrace.status', { gid: inspected }));
      }
      if (this.state.inspected === inspected) await this.#watch(inspected);
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'no-such-download') throw error;
      if (this.state.inspected !== inspected) return;
      this.store.set({ inspected: undefined, detail: undefined });
      await this.#watch(undefined);
    }
  }

  async #watch(detail: string | undefined): Promise<void> {
    const asked = detail === undefined ? {} : { detail, cells: MAP_CELLS };
    const { totals, settings, speed, detail: given } = await this.call('millrace.watch', asked);
    this.applySettings(settings);
    this.store.set({ totals, speed, detail: given });
  }

  async #readShares(): Promise<void> {
    const { shares } = await this.call('millrace.shares', {});
    this.store.set({ shares });
  }

  #onLink(link: LinkState): void {
    const back = link.kind === 'open' && this.state.link.kind === 'lost' && this.state.known;
    this.store.set({ link });
    if (back) this.toast(this.text.t('link.back'));
  }

  #onUpdate(update: LiveUpdate): void {
    for (const patch of update.rows ?? []) {
      const row = this.rows.get(patch.gid);
      if (row !== undefined || patch.name !== undefined) {
        this.rows.set(patch.gid, applyRowPatch(row, patch));
      }
    }
    const gone = update.gone ?? [];
    for (const gid of gone) this.rows.delete(gid);
    const isInspectedGone = gone.some((gid) => gid === this.state.inspected);
    const left = [...this.state.selection.gids].filter((gid) => {
      const row = this.rows.get(gid);
      return row !== undefined && !isShown(this.state.view, row);
    });
    const { totals, settings, detail, newSpeed } = update;
    if (settings !== undefined) this.applySettings(settings);
    const list = update.incomplete
      ? { ...this.state.list, revision: update.revision, pages: stale(this.state.list.pages) }
      : withRevision(this.state.list, update.revision);
    const changed = list !== this.state.list;
    const before = this.state;
    this.store.set({
      list,
      selection: without(before.selection, [...gone, ...left], before.list),
      ...(before.shares && { shares: withShares(before.shares, update) }),
      ...(totals === undefined ? {} : { totals }),
      ...(newSpeed === undefined ? {} : { speed: appendSpeed(before.speed, newSpeed) }),
      ...(detail === undefined ? {} : { detail: patchDetail(before.detail, detail) }),
      ...(isInspectedGone ? { inspected: undefined, detail: undefined } : {}),
    });
    if (changed) this.#rereadSoon();
    if (!update.incomplete) return;
    void this.#checkSelection();
    void this.#watchInspected(true).catch(() => undefined);
    void this.#readShares().catch(() => undefined);
  }

  /** Checks the selection: a selected download may have gone without a notice. */
  async #checkSelection(): Promise<void> {
    const { selection } = this.state;
    if (selection.gids.size === 0 && selection.focus === undefined) return;
    const gids = await this.allGids().catch(() => undefined);
    if (gids === undefined || gids.length >= MAX_BULK) return;
    this.store.set({ selection: within(this.state.selection, new Set(gids)) });
  }

  #reorder(): void {
    const { view, list, totals } = this.state;
    if (!['speed', 'progress', 'eta'].includes(view.sort)) return;
    if ((totals?.byStatus.active ?? 0) === 0 || document.hidden) return;
    this.store.set({ list: { ...list, pages: stale(list.pages) } });
    this.#rereadSoon();
  }

  #rereadSoon(): void {
    this.#rereadTimer ??= setTimeout(() => {
      this.#rereadTimer = undefined;
      void this.#read(this.#visible.first, this.#visible.last);
    }, REREAD_MS);
  }

  async #read(first: number, last: number): Promise<void> {
    if (this.state.link.kind !== 'open' || this.state.listState === 'loading') return;
    const offsets = pagesToRead(this.state.list, first, last);
    const reads = offsets.map((offset) => this.#readPage(offset, this.#query, false));
    await Promise.all(reads.map((read) => read.catch(() => undefined)));
  }

  async #readPage(offset: number, query: number, anew: boolean): Promise<void> {
    const done = this.#reads.begin(query, offset, this.state.list.revision);
    if (!anew && done === undefined) return;
    try {
      const asked = { ...queryOf(this.state.view), offset, limit: PAGE_ROWS };
      const { total, downloads, revision } = await this.call('millrace.list', asked);
      if (query !== this.#query) return;
      for (const row of downloads) this.rows.set(row.gid, row);
      const gids = downloads.map(({ gid }) => gid);
      const page = { total, gids, revision };
      const { list } = this.state;
      this.store.set({
        list: anew ? withFirstPage(list, page) : withPage(list, offset, page),
        listState: 'ready',
      });
      if (this.rows.size > MAX_ROWS) this.#forgetRows();
    } catch (error) {
      if (query !== this.#query) return;
      if (error instanceof CallError && error.code === 'connection') return;
      this.store.set({ listState: { failed: this.reason(error) } });
    } finally {
      done?.();
    }
  }

  /** Forgets rows far from the visible ones; their pages are read again when they are needed. */
  #forgetRows(): void {
    const { list, selection, inspected } = this.state;
    const first = Math.floor(this.#visible.first / PAGE_ROWS) - 1;
    const last = Math.floor(this.#visible.last / PAGE_ROWS) + 1;
    const near = [...list.pages].filter(([page]) => page >= first && page <= last);
    const wanted = new Set(near.flatMap(([, { gids }]) => gids));
    this.store.set({ list: { ...list, pages: new Map(near) } });
    this.rows.keep((gid) => wanted.has(gid) || selection.gids.has(gid) || gid === inspected);
  }
}
