/** The settings as the options page changes them: saved at once, and changed back at once. */

import type { PopupState } from '../../contract/messages.ts';
import type { Settings } from '../../contract/settings.ts';
import type { Text } from '../../text/text.ts';
import type { Background } from '../common/background.ts';
import { setTheme } from '../common/theme.ts';
import { whyNot } from '../common/why-not.ts';

export interface Note {
  /** A new one each time, so that the same words are said again. */
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
  /** The settings before the change. */
  readonly undo?: Partial<Settings>;
}

export interface OptionsView {
  /** undefined: not there yet. */
  readonly settings: Settings | undefined;
  /** Of the takers; undefined: being asked. */
  readonly state: PopupState | undefined;
  /** Why there are no settings. */
  readonly problem: string | undefined;
  readonly note: Note | undefined;
}

export class OptionsModel {
  readonly #background: Background;
  readonly #text: Text;
  readonly #listeners = new Set<() => void>();
  #view: OptionsView = {
    settings: undefined,
    state: undefined,
    problem: undefined,
    note: undefined,
  };
  /** One change after the other: each applies to the result of the one before. */
  #last: Promise<void> = Promise.resolve();
  #notes = 0;
  /** How many changes have been begun, and how many are not kept yet. */
  #begun = 0;
  #unkept = 0;

  constructor(background: Background, text: Text) {
    this.#background = background;
    this.#text = text;
  }

  readonly get = (): OptionsView => this.#view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  async load(): Promise<void> {
    const begun = this.#begun;
    try {
      const settings = await this.#background.ask({ type: 'get-settings' });
      // An answer from before a change would undo it on the screen; the change brings the rest.
      if (this.#unkept > 0 || begun !== this.#begun) return;
      setTheme(settings.theme);
      this.#set({ settings, problem: undefined });
    } catch (error) {
      this.#set({ problem: whyNot(this.#text, error) });
    }
  }

  /** Asks which takers are there. */
  async checkTakers(): Promise<void> {
    try {
      this.#set({ state: await this.#background.ask({ type: 'state' }) });
    } catch (error) {
      if (this.#view.settings !== undefined) this.#say(whyNot(this.#text, error), true);
    }
  }

  /** Keeps a change, and says so. It is shown at once. */
  save(change: Partial<Settings>): Promise<void> {
    return this.#change(change, (before) =>
      this.#say(this.#text.t('word.saved'), false, pick(before, change)),
    );
  }

  /** Makes the last change undone. */
  async undo(): Promise<void> {
    const before = this.#view.note?.undo;
    if (before === undefined) return;
    this.#set({ note: undefined });
    await this.#change(before, () => this.#say(this.#text.t('word.undone'), false));
  }

  dismiss(id: number): void {
    if (this.#view.note?.id === id) this.#set({ note: undefined });
  }

  #change(change: Partial<Settings>, saved: (before: Settings) => void): Promise<void> {
    const { settings: shown } = this.#view;
    if (shown !== undefined) this.#set({ settings: { ...shown, ...change } });
    this.#begun++;
    this.#unkept++;
    const run = async () => {
      try {
        // The popup has switches too: its changes made meanwhile stay.
        const before = await this.#background.ask({ type: 'get-settings' });
        const settings = { ...before, ...change };
        await this.#background.ask({ type: 'set-settings', settings });
        if (--this.#unkept === 0) {
          setTheme(settings.theme);
          this.#set({ settings });
        }
        saved(before);
      } catch (error) {
        this.#unkept--;
        this.#say(whyNot(this.#text, error), true);
        await this.load();
      }
    };
    this.#last = this.#last.then(run);
    return this.#last;
  }

  #say(text: string, bad: boolean, undo?: Partial<Settings>): void {
    this.#set({ note: { id: ++this.#notes, text, bad, ...(undo && { undo }) } });
  }

  #set(change: Partial<OptionsView>): void {
    this.#view = { ...this.#view, ...change };
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Picks the former values of members. */
function pick(settings: Settings, change: Partial<Settings>): Partial<Settings> {
  const names = Object.keys(change) as (keyof Settings)[];
  return Object.fromEntries(names.map((name) => [name, settings[name]]));
}
