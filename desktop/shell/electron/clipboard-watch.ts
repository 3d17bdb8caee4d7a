/** Watches the clipboard for copied links, while the user wants that. */

import { urlsOfCopied } from '@millrace/shared/bridge/page/outside-links';
import { clipboard } from 'electron';

/** Interval, ms, at which the clipboard is read: systems do not report changes. */
const POLL_MS = 1000;

export class ClipboardWatch {
  readonly #onUrls: (urls: readonly string[]) => void;
  #timer: NodeJS.Timeout | undefined;
  /** Text that was seen already, or that the app has copied itself. */
  #last = '';

  constructor(onUrls: (urls: readonly string[]) => void) {
    this.#onUrls = onUrls;
  }

  /**
   * Switches the watch on or off. The present text is ignored: only texts that are copied from now
   * on are offered.
   */
  async set(on: boolean): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (!on) return;
    this.#timer = setInterval(() => void this.#look(), POLL_MS);
    this.#last = await clipboard.readText();
  }

  /** Copies a text without offering its links. */
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
