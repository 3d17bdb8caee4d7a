/**
 * The window for a daemon on another machine. It is a browser for that one page: the page logs in
 * with an account or a pairing code, and reaches nothing of this machine. No daemon is started here.
 */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LaunchRequest } from '@millrace/shared/bridge/page/outside-links';
import { app, dialog, Menu, type MenuItemConstructorOptions, session } from 'electron';
import { MemoryFile } from './daemon/memory-file.ts';
import { startAgain } from './electron/again.ts';
import type { MiniWindow } from './electron/mini-window.ts';
import { protectContents, protectSession } from './electron/protect.ts';
import { MainWindow } from './electron/window.ts';
import { ICON, SHELL_FILES } from './files.ts';
import { offerAddress } from './logic/remote-choice.ts';
import { makeMini } from './mini.ts';
import { type Words, wordsFor } from './text/words.ts';

/** Chromium's name for the failure of a page that another one has replaced. */
const REPLACED = 'ERR_ABORTED';

export class RemoteShell {
  readonly #origin: string;
  readonly #words: Words;
  readonly #memory: MemoryFile;
  readonly #window: MainWindow;
  readonly #mini: MiniWindow;
  /** Takes back the setting that names this daemon; undefined if the start has named it. */
  readonly #forget: (() => void) | undefined;
  /** URLs to offer once the page is loaded. */
  #urls: readonly string[] = [];
  #isAsking = false;

  /**
   * Makes the app. Electron has to be ready.
   *
   * @param origin of the daemon, such as https://nas.example
   * @param folder folder for what the window remembers
   * @param forget takes back the setting that names this daemon; undefined if the start has named it
   */
  constructor(origin: string, folder: string, forget?: () => void) {
    this.#origin = origin;
    this.#forget = forget;
    this.#words = wordsFor([app.getLocale()]);
    this.#memory = new MemoryFile(folder);
    const sources = {
      origin: () => origin,
      own: pathToFileURL(join(SHELL_FILES, 'pages', '/')).href,
      onMini: () => this.#mini.show(),
    };
    protectContents(sources);
    if (session.defaultSession) protectSession(session.defaultSession, sources);
    this.#window = new MainWindow({
      files: SHELL_FILES,
      icon: ICON,
      bounds: () => this.#memory.value.bounds,
      onBounds: (bounds) => this.#memory.change({ bounds }),
      onClose: () => false,
      address: async () => {
        const urls = this.#urls;
        this.#urls = [];
        return offerAddress(origin, urls);
      },
      mayCall: false,
      onFailure: (error) => void this.#onFailure(error),
    });
    this.#mini = makeMini(this.#memory, async () => origin);
    const mac = process.platform === 'darwin';
    const menus: MenuItemConstructorOptions[] = [
      ...(mac ? [{ role: 'appMenu' } as const] : []),
      ...(forget === undefined ? [] : [this.#backMenu()]),
      { role: 'editMenu' },
      { role: 'windowMenu' },
    ];
    Menu.setApplicationMenu(Menu.buildFromTemplate(menus));
    app.on('window-all-closed', () => app.quit());
  }

  show(): void {
    this.#window.show();
  }

  /** Has the page offer the links of a start; files are of this machine, and not looked at. */
  take({ urls }: LaunchRequest): void {
    this.#urls = urls;
    const isShown = this.#window.browserWindow !== undefined;
    this.show();
    if (isShown && urls.length > 0) void this.#window.load();
  }

  #backMenu(): MenuItemConstructorOptions {
    const words = this.#words;
    const submenu: MenuItemConstructorOptions[] = [
      { label: words.t('elsewhere.back'), click: () => this.#goBack() },
      { type: 'separator' },
      { role: 'quit', label: words.t('quit') },
    ];
    return { label: words.t('file'), submenu };
  }

  /** Starts the app again with the daemon of this machine. */
  #goBack(): void {
    this.#forget?.();
    startAgain();
    app.quit();
  }

  async #onFailure(error: Error): Promise<void> {
    if (this.#isAsking || error.message.includes(REPLACED)) return;
    this.#isAsking = true;
    const words = this.#words;
    const back = this.#forget === undefined ? [] : [words.t('elsewhere.back')];
    const { response } = await dialog.showMessageBox({
      type: 'error',
      message: words.t('elsewhere.gone', { host: new URL(this.#origin).host }),
      detail: `${words.t('elsewhere.gone.text')}\n\n${error.message}`,
      buttons: [words.t('tryAgain'), ...back, words.t('quit')],
      defaultId: 0,
      cancelId: back.length + 1,
      noLink: true,
    });
    this.#isAsking = false;
    if (response === 0) await this.#window.load();
    else if (response === 1 && back.length === 1) this.#goBack();
    else app.quit();
  }
}

/** Says that an address is wrong, and ends the app. */
export async function refuseAddress(given: string): Promise<void> {
  await app.whenReady();
  const words = wordsFor([app.getLocale()]);
  dialog.showErrorBox(words.t('elsewhere.wrong', { given }), words.t('elsewhere.wrong.text'));
  app.exit(2);
}
