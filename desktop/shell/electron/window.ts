/** The window: shows a page of our own until the daemon's page can be shown. */

import { join } from 'node:path';
import type { ShellMessage } from '@millrace/shared/bridge/page/shell-api';
import { BrowserWindow, nativeTheme, screen } from 'electron';
import { pageUrl } from '../logic/page-url.ts';
import { MESSAGE_CHANNEL } from '../logic/payload-channels.ts';
import { type Bounds, boundsOnScreen } from '../logic/preferences.ts';
import { BACKGROUND, CONFINED } from './confined.ts';

/** Most messages that are kept for a page that does not listen yet. */
const MAX_KEPT = 100;
/** First size of the window, pixels: list and details fit side by side. */
const SIZE = { width: 1200, height: 780 };

export interface WindowOptions {
  /** Folder with `preload.cjs` and `pages`. */
  readonly files: string;
  readonly icon: string;
  readonly bounds: () => Bounds | undefined;
  onBounds(bounds: Bounds): void;
  /** Called when the user closes the window. @returns true if the window is only hidden */
  onClose(): boolean;
  /** Returns the address of the daemon's page. Called before each load. */
  address(): Promise<string | undefined>;
  /** True if the page may call the app, which only that of this machine's daemon may. */
  readonly mayCall: boolean;
  /** Called if the page cannot be loaded. */
  onFailure?(error: Error): void;
}

export class MainWindow {
  readonly #options: WindowOptions;
  #window: BrowserWindow | undefined;
  #listening = false;
  #wanted = false;
  #loads = 0;
  #kept: ShellMessage[] = [];

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  get browserWindow(): BrowserWindow | undefined {
    return this.#window;
  }

  /** Opens the window, or brings it to the front. */
  show(): void {
    if (this.#window === undefined) return this.#create();
    this.#wanted = true;
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
  }

  /** Loads the daemon's page, if there is a window. */
  async load(): Promise<void> {
    if (this.#window === undefined) return;
    const address = await this.#options.address();
    if (address === undefined || this.#window === undefined) return;
    this.#listening = false;
    const url = pageUrl(address, ++this.#loads);
    // A failure is ignored: the next daemon reloads a page that a crashed daemon has left behind.
    await this.#window.loadURL(url).catch((error) => this.#options.onFailure?.(error));
  }

  /** Sends a message to the page, at once or when the page listens. */
  tell(message: ShellMessage): void {
    if (this.#listening && this.#window !== undefined) {
      this.#window.webContents.send(MESSAGE_CHANNEL, message);
    } else this.#kept = [...this.#kept, message].slice(-MAX_KEPT);
  }

  /** Sends the kept messages to the page, which listens from now on. */
  listen(): void {
    this.#listening = true;
    for (const message of this.#kept.splice(0)) this.tell(message);
  }

  hide(): void {
    this.#wanted = false;
    this.#window?.hide();
  }

  #create(): void {
    const { files, icon, mayCall } = this.#options;
    const screens = screen.getAllDisplays().map(({ workArea }) => workArea);
    const window = new BrowserWindow({
      ...SIZE,
      ...boundsOnScreen(this.#options.bounds(), screens),
      minWidth: 360,
      minHeight: 320,
      show: false,
      title: 'Millrace',
      icon,
      // The menu is the only way back from a daemon elsewhere.
      autoHideMenuBar: mayCall,
      backgroundColor: BACKGROUND[nativeTheme.shouldUseDarkColors ? 'dark' : 'light'],
      webPreferences: {
        ...(mayCall ? { preload: join(files, 'preload.cjs') } : {}),
        ...CONFINED,
      },
    });
    this.#window = window;
    // Show the window when there is something to see, unless the user has closed it meanwhile.
    this.#wanted = true;
    window.once('ready-to-show', () => {
      if (this.#wanted) window.show();
    });
    window.on('close', (event) => {
      this.#options.onBounds(window.getNormalBounds());
      if (!this.#options.onClose()) return;
      event.preventDefault();
      this.hide();
    });
    window.on('closed', () => {
      this.#window = undefined;
      this.#listening = false;
    });
    // A new document does not have the listeners of the earlier one.
    window.webContents.on('did-navigate', () => {
      this.#listening = false;
    });
    // Memory ran out, or Chromium has a bug: without its page the app has no interface.
    const revive = () => void this.load();
    window.webContents.on('render-process-gone', revive);
    window
      .loadFile(join(files, 'pages', 'starting.html'))
      .catch(() => {})
      .then(() => this.load());
  }
}
