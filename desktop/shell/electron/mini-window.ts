/** The mini window: total speed and running downloads, above all other windows. */

import { join } from 'node:path';
import { BrowserWindow, nativeTheme, screen } from 'electron';
import { pageUrl } from '../logic/page-url.ts';
import { type Bounds, boundsOnScreen } from '../logic/preferences.ts';
import { BACKGROUND, CONFINED } from './confined.ts';

/** First size, pixels: the totals and three downloads. */
const SIZE = { width: 320, height: 180 };

export interface MiniWindowOptions {
  /** Folder with `pages`. */
  readonly files: string;
  readonly icon: string;
  readonly bounds: () => Bounds | undefined;
  onBounds(bounds: Bounds): void;
  /** Returns the address of the daemon's mini page. Called before each load. */
  address(): Promise<string | undefined>;
}

export class MiniWindow {
  readonly #options: MiniWindowOptions;
  #window: BrowserWindow | undefined;
  #loads = 0;

  constructor(options: MiniWindowOptions) {
    this.#options = options;
  }

  /** Opens the window, or brings it to the front. */
  show(): void {
    if (this.#window === undefined) return this.#create();
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
  }

  /** Loads the daemon's mini page, if there is a window. */
  async load(): Promise<void> {
    const window = this.#window;
    if (window === undefined) return;
    const address = await this.#options.address();
    if (address === undefined || window !== this.#window) return;
    // The next daemon reloads a page that could not be loaded.
    await window.loadURL(pageUrl(address, ++this.#loads)).catch(() => {});
  }

  #create(): void {
    const { files, icon } = this.#options;
    const screens = screen.getAllDisplays().map(({ workArea }) => workArea);
    const window = new BrowserWindow({
      ...SIZE,
      ...boundsOnScreen(this.#options.bounds(), screens),
      minWidth: 200,
      minHeight: 100,
      show: false,
      title: 'Millrace',
      icon,
      alwaysOnTop: true,
      maximizable: false,
      fullscreenable: false,
      autoHideMenuBar: true,
      backgroundColor: BACKGROUND[nativeTheme.shouldUseDarkColors ? 'dark' : 'light'],
      webPreferences: CONFINED,
    });
    this.#window = window;
    window.once('ready-to-show', () => window.show());
    window.on('close', () => this.#options.onBounds(window.getNormalBounds()));
    window.on('closed', () => {
      this.#window = undefined;
    });
    window.webContents.on('render-process-gone', () => void this.load());
    window
      .loadFile(join(files, 'pages', 'starting.html'))
      .catch(() => {})
      .then(() => this.load());
  }
}
