/** Keeps the shell's data between runs, in a file beside the daemon's state. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Remembered, readRemembered } from '../logic/preferences.ts';

export class MemoryFile {
  readonly #path: string;
  #value: Remembered;

  /** Reads the file. @param state folder; without a readable file, all values are the defaults */
  constructor(state: string) {
    this.#path = join(state, 'shell.json');
    let text = '';
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch {
      // The first start.
    }
    this.#value = readRemembered(text);
  }

  get value(): Remembered {
    return this.#value;
  }

  /**
   * Changes values. The file is never half written; changes that cannot be written apply until the
   * app ends.
   */
  change(changes: Partial<Remembered>): void {
    this.#value = { ...this.#value, ...changes };
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      const temporary = `${this.#path}.${process.pid}.new`;
      writeFileSync(temporary, `${JSON.stringify(this.#value)}\n`, { mode: 0o600 });
      renameSync(temporary, this.#path);
    } catch (error) {
      process.stderr.write(`The app's settings could not be saved: ${error}\n`);
    }
  }
}
