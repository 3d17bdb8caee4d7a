/** Keeps the user's current settings. */

import { tryRead } from '@millrace/shared/schema/read';
import type { BrowserApi } from '../browser/api.ts';
import { DEFAULT_SETTINGS, type Settings, settingsSchema } from '../contract/settings.ts';

const KEY = 'settings';

export class KeptSettings {
  readonly #storage: BrowserApi['storage'];
  /** Resolves when the stored settings have been read. */
  readonly ready: Promise<void>;
  #settings = DEFAULT_SETTINGS;
  /** Changes of our own that are being stored. */
  #storing = 0;

  /** @param onChange called after each change, and after the first read */
  constructor(storage: BrowserApi['storage'], onChange: () => void) {
    this.#storage = storage;
    storage.onChanged.addListener((changes, area) => {
      const change = changes[KEY];
      if (area !== 'local' || change === undefined) return;
      // A late report of an earlier change would undo the later one, whose own report follows.
      if (this.#storing === 0) this.#settings = parse(change.newValue);
      onChange();
    });
    this.ready = storage.local.get(KEY).then(
      (stored) => {
        this.#settings = parse(stored[KEY]);
        onChange();
      },
      () => {},
    );
  }

  get now(): Settings {
    return this.#settings;
  }

  async change(changes: Partial<Settings>): Promise<void> {
    await this.ready;
    this.#settings = { ...this.#settings, ...changes };
    this.#storing++;
    try {
      await this.#storage.local.set({ [KEY]: this.#settings });
    } finally {
      this.#storing--;
    }
  }
}

function parse(value: unknown): Settings {
  return tryRead(settingsSchema, value ?? {}).data ?? DEFAULT_SETTINGS;
}
