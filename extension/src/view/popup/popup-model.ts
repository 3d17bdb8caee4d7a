/**
 * Model of the popup: keeps its state up to date with the background, and carries out its buttons.
 */

import type { PopupState, Request } from '../../contract/messages.ts';
import type { DownloadCommand, ShownDownload } from '../../contract/taker.ts';
import type { Text } from '../../text/text.ts';
import type { Background } from '../common/background.ts';
import { whyNot } from '../common/why-not.ts';
import { keyOf } from './shown.ts';

export interface PopupView {
  /** The state; undefined until it has arrived. */
  readonly state: PopupState | undefined;
  /** Reason why there is no state, or why the last command failed, as a text for the user. */
  readonly problem: string | undefined;
}

export class PopupModel {
  readonly #background: Background;
  readonly #text: Text;
  readonly #url: Promise<string | undefined>;
  readonly #listeners = new Set<() => void>();
  #view: PopupView = { state: undefined, problem: undefined };
  #asking = false;
  #again = false;
  /**
   * Number of starts and ends of commands: an answer to an earlier request does not reflect them.
   */
  #commands = 0;

  /** @param url URL of the page that the popup was opened on */
  constructor(background: Background, text: Text, url: Promise<string | undefined>) {
    this.#background = background;
    this.#text = text;
    this.#url = url;
  }

  readonly get = (): PopupView => this.#view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Requests the current state. If a request is under way, another one follows it. */
  async refresh(): Promise<void> {
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    const commands = this.#commands;
    try {
      const url = await this.#url;
      const state = await this.#background.ask({ type: 'state', ...(url && { url }) });
      if (commands === this.#commands) this.#take(state);
      else this.#again = true;
    } catch (error) {
      this.#set({ problem: whyNot(this.#text, error) });
    }
    this.#asking = false;
    if (!this.#again) return;
    this.#again = false;
    await this.refresh();
  }

  async command(download: ShownDownload, command: DownloadCommand): Promise<void> {
    const { taker, id } = download;
    await this.#do({ type: 'command', taker, id, command });
  }

  async switchAll(on: boolean): Promise<void> {
    await this.#do({ type: 'switch-all', on }, { on });
  }

  async switchHost(name: string, off: boolean): Promise<void> {
    await this.#do({ type: 'switch-host', host: name, off }, { host: { name, off } });
  }

  async skipNext(skip: boolean): Promise<void> {
    await this.#do({ type: 'skip-next', skip }, { skipNext: skip });
  }

  async openApp(): Promise<void> {
    await this.#do({ type: 'open-app' });
  }

  dismiss(): void {
    this.#set({ problem: undefined });
  }

  /**
   * Carries out a command.
   *
   * @param change shown at once, and kept unless the background reports otherwise
   */
  async #do(request: Request, change: Partial<PopupState> = {}): Promise<void> {
    const { state } = this.#view;
    if (state !== undefined) this.#set({ state: { ...state, ...change }, problem: undefined });
    this.#commands++;
    let problem: string | undefined;
    try {
      await this.#background.ask(request);
    } catch (error) {
      problem = whyNot(this.#text, error);
    }
    this.#commands++;
    await this.refresh();
    if (problem !== undefined) this.#set({ problem });
  }

  /**
   * Takes a new state. Unchanged downloads stay the same objects, so that their rows are not
   * redrawn.
   */
  #take(state: PopupState): void {
    const before = new Map(this.#view.state?.downloads.map((row) => [keyOf(row), row]));
    const downloads = state.downloads.map((row) => {
      const known = before.get(keyOf(row));
      return known !== undefined && JSON.stringify(known) === JSON.stringify(row) ? known : row;
    });
    const had = this.#view.state !== undefined;
    // The first state clears an earlier failure; later ones keep the message of a command.
    this.#set({ state: { ...state, downloads }, ...(had ? {} : { problem: undefined }) });
  }

  #set(change: Partial<PopupView>): void {
    this.#view = { ...this.#view, ...change };
    for (const listener of [...this.#listeners]) listener();
  }
}
