/** Shows notifications to the user. */

import type { BrowserApi } from '../browser/api.ts';

export class Notifier {
  readonly #api: BrowserApi;
  readonly #isOn: () => boolean;

  constructor(api: BrowserApi, isOn: () => boolean) {
    this.#api = api;
    this.#isOn = isOn;
  }

  /** Shows a notification. @param title name of the text for its title */
  tell(title: string, message: string): void {
    if (!this.#isOn()) return;
    const { notifications, i18n, runtime } = this.#api;
    const shown = {
      type: 'basic' as const,
      iconUrl: runtime.getURL('icons/128.png'),
      title: i18n.getMessage(title),
      message,
    };
    // Some systems show no notifications.
    void notifications.create('', shown)?.catch?.(() => {});
  }

  text(name: string, ...values: string[]): string {
    return this.#api.i18n.getMessage(name, values);
  }
}
