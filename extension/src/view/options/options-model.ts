/** Model of the options page: saves changes of the settings at once, and undoes them. */

import type { PopupState } from '../../contract/messages.ts';
import type { PairProblem, RemoteState } from '../../contract/remote.ts';
import type { Settings } from '../../contract/settings.ts';
import type { Text } from '../../text/text.ts';
import type { Background } from '../common/background.ts';
import { setTheme } from '../common/theme.ts';
import { whyNot } from '../common/why-not.ts';

export interface Note {
  /** New for each note, so that a repeated text is announced again. */
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
  /** The settings before the change. */
  readonly undo?: Partial<Settings>;
}

export interface OptionsView {
  /** The settings; undefined until they have arrived. */
  readonly settings: Settings | undefined;
  /** State of the takers; undefined while the background is asked. */
  readonly state: PopupState | undefined;
  /** The daemon on another machine; undefined while the background is asked. */
  readonly remote: RemoteState | undefined;
  /** Reason why there are no settings, as a text for the user. */
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
    remote: undefined,
    problem: undefined,
    note: undefined,
  };
  /**
   * Resolves when the last change is saved: changes are saved in turn, each on the result of the
   * one before.
   */
  #last: Promise<void> = Promise.resolve();
  #notes = 0;
  /** Number of changes that have begun, and number of changes that are not saved yet. */
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
      // An answer from before a change would undo the change on the screen. The change itself
      // brings the rest.
      if (this.#unkept > 0 || begun !== this.#begun) return;
      setTheme(settings.theme);
      this.#set({ settings, problem: undefined });
    } catch (error) {
      this.#set({ problem: whyNot(this.#text, error) });
    }
  }

  /** Asks which takers are available. */
  async checkTakers(): Promise<void> {
    try {
      this.#set({ state: await this.#background.ask({ type: 'state' }) });
    } catch (error) {
      if (this.#view.settings !== undefined) this.#say(whyNot(this.#text, error), true);
    }
  }

  /** Asks for the daemon on another machine, and whether it answers. */
  async checkRemote(): Promise<void> {
    try {
      this.#set({ remote: await this.#background.ask({ type: 'remote' }) });
    } catch (error) {
      if (this.#view.settings !== undefined) this.#say(whyNot(this.#text, error), true);
    }
  }

  /** Pairs with a daemon. @returns the reason why that failed, if it did */
  async pairRemote(url: string, code: string): Promise<PairProblem | undefined> {
    try {
      const { problem } = await this.#background.ask({ type: 'pair-remote', url, code });
      if (problem !== undefined) return problem;
    } catch (error) {
      this.#say(whyNot(this.#text, error), true);
    }
    await this.checkRemote();
    return undefined;
  }

  async forgetRemote(): Promise<void> {
    try {
      await this.#background.ask({ type: 'forget-remote' });
    } catch (error) {
      this.#say(whyNot(this.#text, error), true);
    }
    await Promise.all([this.checkRemote(), this.load()]);
  }

  /** Saves a change, shows it at once, and reports that it is saved. */
  save(change: Partial<Settings>): Promise<void> {
    return this.#change(change, (before) =>
      this.#say(this.#text.t('word.saved'), false, pick(before, change)),
    );
  }

  /** Undoes the last change. */
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
        // Read the settings again: the popup may have changed others meanwhile.
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

/** Returns the former values of the changed members. */
function pick(settings: Settings, change: Partial<Settings>): Partial<Settings> {
  const names = Object.keys(change) as (keyof Settings)[];
  return Object.fromEntries(names.map((name) => [name, settings[name]]));
}
