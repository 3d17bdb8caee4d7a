/** Looks at the clipboard, while the user wants that, for links that have been copied. */

import { clipboard } from 'electron';
import { urlsOfCopied } from '../logic/links.ts';

/** Systems do not tell of changes. */
const POLL_MS = 1000;

export class ClipboardWatch {
  readonly #onUrls: (urls: readonly string[]) => void;
  #timer: NodeJS.Timeout | undefined;
  /** Seen already, or our own. */
  #last = '';

  constructor(onUrls: (urls: readonly string[]) => void) {
    this.#onUrls = onUrls;
  }

  /**
   * Switches the watch. The present text is no offer: only texts that are copied from now on are.
   */
  async set(on: boolean): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (!on) return;
    this.#timer = setInterval(() => void this.#look(), POLL_MS);
    this.#last = await clipboard.readText();
  }

  /** Copies, without taking it for an offer. */
  async write(text: string): Promise<void> {
    this.#last = text;
    await clipboard.writeText(text);
  }

  async #look(): Promise<void> {
    const text = await clipboard.readText();
    if (text === this.#last || this.#timer === undefined) return;
    this.#last = text;
    const urls = urlsOfCopied(text);
    if (urls.length > 0) this.#onUrls(urls);
  }
}
