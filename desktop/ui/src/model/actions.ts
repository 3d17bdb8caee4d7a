/** Users' actions on downloads; each reports its outcome where that does not show by itself. */

import type { RemovalSummary } from '@millrace/shared/bridge/rpc/trash-api';
import { CallError } from '../api/connection.ts';
import type { App } from './app.ts';
import type { DialogState, SettingsPage } from './app-state.ts';
import { canPause, canResume, canRetry, isQueued, type Remedy } from './failure.ts';
import { gidAt, indexOf } from './list-window.ts';
import { mustAsk, onlyEntries } from './removal.ts';
import { choose, type Modifiers, NO_SELECTION, placeAfter, step } from './selection.ts';
import { ShareActions } from './shares/share-actions.ts';
import { copyText, shell } from './shell.ts';

/** Time, ms, for which undoing is offered; Ctrl+Z and the trash offer it for days. */
export const UNDO_MS = 10_000;

export class Actions {
  readonly #app: App;
  readonly shares: ShareActions;
  #moves = Promise.resolve();
  /** The message that offers to undo the last removal. */
  #undoToast: number | undefined;

  constructor(app: App) {
    this.#app = app;
    this.shares = new ShareActions(app, {
      copyText,
      // A file that the window cannot name is copied.
      offerFile: async (file) => shell?.offerFile(file).catch(() => undefined),
      offerFolder: shell?.offerFolder,
      show: () => app.store.set({ section: 'shared', sideOpen: false }),
    });
  }

  /** Opens a dialog, or closes it. The side bar of a narrow page gives way to it. */
  open(dialog: DialogState | undefined): void {
    this.#app.store.set(dialog === undefined ? { dialog } : { dialog, sideOpen: false });
  }

  openSettings(page: SettingsPage = 'folders'): void {
    this.open({ kind: 'settings', page });
  }

  add(text = ''): void {
    this.open({ kind: 'add', text, metalinks: [] });
  }

  async pause(gids?: readonly string[]): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.pause', gids === undefined ? {} : { gids }));
  }

  async resume(gids?: readonly string[]): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.resume', gids === undefined ? {} : { gids }));
  }

  async retry(gids: readonly string[]): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.retry', { gids }));
  }

  /** Pauses running downloads; if none runs, resumes paused ones and tries failed ones again. */
  async toggle(gids: readonly string[]): Promise<void> {
    const rows = gids.flatMap((gid) => this.#app.rows.get(gid) ?? []);
    const pausable = rows.filter(canPause).map(({ gid }) => gid);
    if (pausable.length > 0) return this.pause(pausable);
    const paused = rows.filter(canResume).map(({ gid }) => gid);
    const failed = rows.filter(canRetry).map(({ gid }) => gid);
    if (paused.length > 0) await this.resume(paused);
    if (failed.length > 0) await this.retry(failed);
  }

  /**
   * Moves downloads to the trash, complete ones without their files. Asks first about many
   * downloads or much data.
   */
  async remove(gids: readonly string[]): Promise<void> {
    if (gids.length === 0) return;
    const summary = await this.#app.attempt(this.#app.call('millrace.removalSummary', { gids }));
    if (summary === undefined) return;
    if (mustAsk(summary)) this.open({ kind: 'remove', gids, summary, files: false });
    else await this.removeNow(gids, summary, false);
  }

  /** Asks whether the files of complete downloads are to go to the trash as well. */
  async deleteFiles(gids: readonly string[]): Promise<void> {
    const summary = await this.#app.attempt(this.#app.call('millrace.removalSummary', { gids }));
    if (summary !== undefined) this.open({ kind: 'remove', gids, summary, files: true });
  }

  /** Carries out a removal that the user has confirmed. */
  async removeNow(gids: readonly string[], summary: RemovalSummary, files: boolean): Promise<void> {
    const { text, rows } = this.#app;
    const name = rows.get(gids[0] as string)?.name ?? '';
    const asked = { gids, forget: true, deleteFile: files };
    const result = await this.#app.attempt(this.#app.call('millrace.remove', asked));
    if (result === undefined) return;
    const { length } = result.gids;
    const what = !files && onlyEntries(summary) ? 'toast.off' : 'toast.removed';
    const said = length === 1 ? text.t(`${what}.name`, { name }) : text.n(what, length);
    this.#toastRemoved(said, result.undo);
  }

  /** Restores the last removal; called again, the one before it. */
  async undo(undo?: string): Promise<void> {
    const asked = undo === undefined ? {} : { undo };
    try {
      const { gids } = await this.#app.call('millrace.undoRemove', asked);
      // The message's offer to undo has been used.
      if (this.#undoToast !== undefined) this.#app.dismiss(this.#undoToast);
      this.#app.toast(this.#app.text.n('toast.restored', gids.length));
    } catch (error) {
      const { text } = this.#app;
      if (error instanceof CallError && error.code === 'wrong-state') {
        this.#app.toast(text.t('toast.nothingToUndo'));
      } else
        this.#app.toast(text.t('toast.failed', { why: this.#app.reason(error) }), { kind: 'bad' });
    }
  }

  /** Forgets finished downloads; their files stay. */
  async clearDone(): Promise<void> {
    const asked = { status: ['complete', 'removed'] } as const;
    const result = await this.#app.attempt(this.#app.call('millrace.purge', asked));
    if (result === undefined) return;
    this.#toastRemoved(this.#app.text.n('toast.forgot', result.count), result.undo);
  }

  #toastRemoved(said: string, undo: string | undefined): void {
    const action = { label: this.#app.text.t('toast.undo'), run: () => void this.undo(undo) };
    const id = this.#app.toast(said, undo === undefined ? {} : { action });
    if (undo !== undefined) this.#undoToast = id;
  }

  /** Sets the category of downloads. @param category null: none */
  async setCategory(gids: readonly string[], category: string | null): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.changeMany', { gids, category }));
  }

  /** Puts downloads before another download of the queue, or at the queue's end. */
  async place(gids: readonly string[], before: string | null): Promise<void> {
    const placed = await this.#app.attempt(this.#app.call('millrace.place', { gids, before }));
    if (placed !== undefined) await this.#app.renew();
  }

  /** Puts downloads at the beginning of the queue. */
  async toTop(gids: readonly string[]): Promise<void> {
    const first = { status: ['queued', 'waiting', 'paused'], limit: 1 } as const;
    const page = await this.#app.attempt(this.#app.call('millrace.list', first));
    const before = page?.downloads[0]?.gid;
    if (before !== undefined && before !== gids[0]) await this.place(gids, before);
  }

  /** Moves the selected downloads one place up or down, for the keyboard; moves run one by one. */
  shift(gids: readonly string[], by: 1 | -1): Promise<void> {
    this.#moves = this.#moves.then(() => this.#shift(gids, by));
    return this.#moves;
  }

  async #shift(gids: readonly string[], by: 1 | -1): Promise<void> {
    const { list } = this.#app.state;
    const at = gids.map((gid) => indexOf(list, gid)).filter((index) => index >= 0);
    const moved = gids.filter((gid) => this.#isQueued(gid));
    if (moved.length === 0 || at.length === 0) return;
    const edge = by < 0 ? Math.min(...at) - 1 : Math.max(...at) + 2;
    const target = gidAt(list, edge);
    if (by < 0 && (target === undefined || !this.#isQueued(target))) return;
    const before = target !== undefined && this.#isQueued(target) ? target : null;
    await this.place(moved, before);
  }

  /** Carries out the remedy that is offered beside the reason of a failure. */
  remedy(gid: string, remedy: Remedy): void {
    if (remedy === 'retry') void this.retry([gid]);
    else if (remedy === 'newLink') this.open({ kind: 'new-link', gid });
    else if (remedy === 'change') this.open({ kind: 'change', gid });
    else this.openSettings(remedy);
  }

  choose(gid: string, modifiers: Modifiers): void {
    const { selection, list } = this.#app.state;
    this.#app.store.set({ selection: choose(selection, list, gid, modifiers) });
    this.#showFocus();
  }

  /** Adds the focused row to the selection, or removes it from there. */
  toggleFocus(): void {
    const { focus } = this.#app.state.selection;
    if (focus !== undefined) this.choose(focus, { shift: false, toggle: true });
  }

  async step(by: number, modifiers: Modifiers): Promise<void> {
    const { selection, list } = this.#app.state;
    const from = selection.focus === undefined ? 0 : Math.max(0, indexOf(list, selection.focus));
    const to = placeAfter(selection, list, by);
    await this.#app.ensure(modifiers.shift ? from : to, to);
    const now = this.#app.state;
    this.#app.store.set({ selection: step(now.selection, now.list, by, modifiers) });
    this.#showFocus();
  }

  async selectAll(): Promise<void> {
    const gids = await this.#app.attempt(this.#app.allGids());
    if (gids === undefined || gids.length === 0) return;
    const { focus } = this.#app.state.selection;
    this.#app.store.set({
      selection: { gids: new Set(gids), anchor: gids[0], focus: focus ?? gids[0] },
    });
  }

  unselect(): void {
    this.#app.store.set({ selection: NO_SELECTION });
    void this.#app.inspect(undefined);
  }

  setPanel(panelOpen: boolean): void {
    this.#app.store.set({ panelOpen });
    this.#showFocus();
  }

  /** Opens the panel; where no download is chosen, chooses the first of the list. */
  async showPanel(): Promise<void> {
    const { selection } = this.#app.state;
    if (selection.focus === undefined) await this.step(1, { shift: false, toggle: false });
    this.setPanel(true);
  }

  async copyLinks(gids: readonly string[]): Promise<void> {
    const urls = gids.flatMap((gid) => this.#app.rows.get(gid)?.urls[0] ?? []);
    if (await copyText(urls.join('\n'))) this.#app.toast(this.#app.text.t('word.copied'));
  }

  async openFile(gid: string): Promise<void> {
    const answer = await shell?.openFile(gid);
    if (answer?.problem !== undefined) this.#app.toast(answer.problem, { kind: 'bad' });
  }

  async showInFolder(gid: string): Promise<void> {
    const answer = await shell?.showInFolder(gid);
    if (answer?.problem !== undefined) this.#app.toast(answer.problem, { kind: 'bad' });
  }

  #isQueued(gid: string): boolean {
    const row = this.#app.rows.get(gid);
    return row !== undefined && isQueued(row);
  }

  #showFocus(): void {
    const { panelOpen, selection, inspected } = this.#app.state;
    void this.#app.inspect(panelOpen ? (selection.focus ?? inspected) : undefined);
  }
}
