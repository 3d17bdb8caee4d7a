/** Shows the state of the downloads outside the window: in tray, taskbar and dock. */

import {
  app,
  type BrowserWindow,
  type MenuItemConstructorOptions,
  powerSaveBlocker,
} from 'electron';
import { TrayIcon } from './electron/tray.ts';
import type { Totals } from './logic/totals.ts';
import { type DaemonState, taskbarProgress, trayText } from './logic/tray-text.ts';
import type { Words } from './text/words.ts';

export interface StatusDisplayOptions {
  readonly trayIcon: string;
  onTrayClick(): void;
  /** Returns the tray's menu, which shows the tray's text. */
  menu(text: string): MenuItemConstructorOptions[];
}

export class StatusDisplay {
  readonly #options: StatusDisplayOptions;
  readonly #tray: TrayIcon;
  #text = '';
  #badge = 0;
  #blocker: number | undefined;

  constructor(options: StatusDisplayOptions) {
    this.#options = options;
    this.#tray = new TrayIcon(options.trayIcon, () => options.onTrayClick());
  }

  show(state: DaemonState, sums: Totals, words: Words, window: BrowserWindow | undefined): void {
    const text = trayText(state, sums, words);
    this.#tray.show(text, state === 'running' && sums.active > 0 ? sums.share : undefined);
    if (text !== this.#text) this.#tray.setMenu(this.#options.menu(text));
    this.#text = text;
    window?.setProgressBar(taskbarProgress(sums));
    if (this.#badge !== sums.active) app.setBadgeCount(sums.active);
    this.#badge = sums.active;
    this.#stayAwake(sums.active > 0);
  }

  /** Keeps the machine awake, as it downloads nothing while asleep; its screen may sleep. */
  #stayAwake(on: boolean): void {
    if (on === (this.#blocker !== undefined)) return;
    if (this.#blocker !== undefined) powerSaveBlocker.stop(this.#blocker);
    this.#blocker = on ? powerSaveBlocker.start('prevent-app-suspension') : undefined;
  }
}
