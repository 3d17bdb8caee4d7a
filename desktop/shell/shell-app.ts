/** The app: window, tray and notifications around the daemon. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type LaunchRequest, nameOfUrl } from '@millrace/shared/bridge/page/outside-links';
import type {
  ShellAnswer,
  ShellMessage,
  ShellPreferences,
} from '@millrace/shared/bridge/page/shell-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import { app, BrowserWindow, dialog, nativeTheme, session, shell } from 'electron';
import { logFile } from '../local/daemon-launch.ts';
import { Announcer } from './announcer.ts';
import type { DaemonLink } from './daemon/daemon-link.ts';
import { follow } from './daemon/feed.ts';
import { MemoryFile } from './daemon/memory-file.ts';
import { type Connected, type DaemonPlace, Supervisor } from './daemon/supervisor.ts';
import { chooseRemote, startAgain } from './electron/again.ts';
import { chooseFolder, chooseMetalinks } from './electron/choose.ts';
import { ClipboardWatch } from './electron/clipboard-watch.ts';
import { setBrowserHost, setDefaultHandler, setStartAtLogin } from './electron/integration.ts';
import { serveCalls } from './electron/ipc.ts';
import { type MenuActions, setAppMenu, trayMenu } from './electron/menu.ts';
import type { MiniWindow } from './electron/mini-window.ts';
import { type NotifyText, notify } from './electron/notify.ts';
import { protectContents, protectSession } from './electron/protect.ts';
import { watchForUpdates } from './electron/updates.ts';
import { MainWindow } from './electron/window.ts';
import { ICON, nativeHostMain, SHELL_FILES, TRAY_ICON } from './files.ts';
import { openFile, openPage, showInFolder } from './finished-file.ts';
import { quitQuestion } from './logic/quit-question.ts';
import { NOTHING, type Totals, totalsOf } from './logic/totals.ts';
import type { DaemonState } from './logic/tray-text.ts';
import { makeMini } from './mini.ts';
import { offerOf } from './offers.ts';
import { watchQuitting } from './quitting.ts';
import { StatusDisplay } from './status-display.ts';
import { type Words, wordsFor } from './text/words.ts';

/** Most names that a notification lists. */
const MAX_NAMES = 3;

export class ShellApp {
  readonly #state: string;
  readonly #memory: MemoryFile;
  readonly #supervisor: Supervisor;
  readonly #window: MainWindow;
  readonly #mini: MiniWindow;
  readonly #status: StatusDisplay;
  readonly #announcer: Announcer;
  readonly #clipboard = new ClipboardWatch((urls) => this.#offerCopied(urls));
  #words: Words;
  #totals: Totals = NOTHING;
  #daemonState: DaemonState = 'starting';
  #quitting = false;
  /** Daemon elsewhere that the window shows after the next end of the app, unless the user stays. */
  #moveTo: string | undefined;
  /** The latest change of the host's registration: a removal under way would undo what follows. */
  #hostChange: Promise<void> = Promise.resolve();

  /**
   * Makes the app. Electron has to be ready.
   *
   * @param place folders and program of the daemon
   * @param first a `findOrStart` of that daemon that has begun already
   */
  constructor(place: DaemonPlace, first: Promise<Connected>) {
    const { state } = place;
    this.#state = state;
    this.#memory = new MemoryFile(state);
    this.#words = wordsFor([app.getLocale()]);
    this.#supervisor = this.#superviseDaemon(place, first);
    this.#window = this.#makeWindow();
    this.#mini = makeMini(this.#memory, () => this.#pageAddress());
    this.#status = new StatusDisplay({
      trayIcon: TRAY_ICON,
      onTrayClick: () => this.#window.show(),
      menu: (text) => trayMenu(text, this.#words, this.#actions),
    });
    this.#announcer = new Announcer({
      since: Date.now(),
      words: () => this.#words,
      wanted: () => this.#preferences.notifications && !this.#isLookedAt(),
      isLookedAt: () => this.#isLookedAt(),
      show: (text, gid) => this.#notify(text, () => this.#reveal(gid)),
    });
    this.#serve();
  }

  /** Starts all parts, and runs until the app quits. */
  async run(request: LaunchRequest, folder: string): Promise<void> {
    setAppMenu(this.#words, this.#actions);
    void this.#clipboard.set(this.#preferences.watchClipboard);
    // Also corrects the registration after an update has moved the host.
    if (this.#preferences.browserHost) this.#setBrowserHost(true);
    this.#showStatus();
    if (!request.hidden) this.#window.show();
    watchForUpdates((version) => {
      const title = this.#words.t('updateReady', { version });
      this.#notify({ title, body: this.#words.t('updateReady.text') }, () => {});
    });
    void this.take(request, folder);
    await this.#supervisor.run();
  }

  /** Offers the downloads of a start, a link or a file in the window, if there are any. */
  async take(request: LaunchRequest, folder: string): Promise<void> {
    const problem = (title: string, body: string) => this.#notify({ title, body }, () => {});
    const offer = await offerOf(request, folder, this.#words, problem);
    if (offer !== undefined) this.#tell(offer);
  }

  show(): void {
    this.#window.show();
  }

  readonly #actions: MenuActions = {
    open: () => this.#window.show(),
    openMini: () => this.#mini.show(),
    command: (command) => this.#tell({ kind: 'command', command }),
    openFile: () => void this.#chooseMetalinks(),
    pauseAll: () => void this.#call('millrace.pause'),
    resumeAll: () => void this.#call('millrace.resume'),
    showLog: () => void shell.openPath(logFile(this.#state)),
    closeWindow: () => BrowserWindow.getFocusedWindow()?.close(),
    quit: () => app.quit(),
  };

  get #preferences(): ShellPreferences {
    return this.#memory.value.preferences;
  }

  #superviseDaemon(place: DaemonPlace, first: Promise<Connected>): Supervisor {
    return new Supervisor({
      ...place,
      first,
      earlierPid: this.#memory.value.daemonPid,
      onState: (state) => {
        this.#daemonState = state;
        if (state !== 'running') this.#totals = NOTHING;
        this.#showStatus();
      },
      onReady: (link, _daemon, restarted) => this.#onReady(link, restarted),
      onOwned: (daemonPid) => this.#memory.change({ daemonPid }),
      onGaveUp: (reason) => this.#tellGaveUp(reason),
    });
  }

  #makeWindow(): MainWindow {
    return new MainWindow({
      files: SHELL_FILES,
      icon: ICON,
      bounds: () => this.#memory.value.bounds,
      onBounds: (bounds) => this.#memory.change({ bounds }),
      onClose: () => this.#onCloseWindow(),
      address: () => this.#pageAddress(),
      mayCall: true,
    });
  }

  #serve(): void {
    const origin = () => this.#supervisor.origin;
    const own = pathToFileURL(join(SHELL_FILES, 'pages', '/')).href;
    protectContents({ origin, own, onMini: () => this.#mini.show() });
    if (session.defaultSession) protectSession(session.defaultSession, { origin, own });
    serveCalls(
      {
        openFile: (gid) => openFile(this.#supervisor.link, gid, this.#words),
        showInFolder: (gid) => showInFolder(this.#supervisor.link, gid, this.#words),
        openPage: (gid) => openPage(this.#supervisor.link, gid, this.#words),
        chooseFolder: (start) => chooseFolder(start),
        offerFile: (path) => this.#supervisor.link?.call('millrace.offerFile', { path }),
        offerFolder: async () => {
          // The page hears of the folder only what the daemon says of it.
          const path = await chooseFolder(undefined);
          if (path === null) return undefined;
          return this.#supervisor.link?.call('millrace.offerFile', { path });
        },
        copyText: async (text) => {
          await this.#clipboard.write(text);
          return {};
        },
        getPreferences: () => this.#preferences,
        setPreferences: (changes) => this.#change(changes),
        showRemote: (address) => this.#showRemote(address),
        listen: () => this.#window.listen(),
      },
      () => this.#window.browserWindow?.webContents,
      origin,
    );
    let moveTo: string | undefined;
    watchQuitting({
      question: (forced) => {
        // A later end of the app, after the user has stayed, leads nowhere else.
        moveTo = this.#moveTo;
        this.#moveTo = undefined;
        const { active, waiting } = this.#totals;
        const { endsDaemon } = this.#supervisor;
        return quitQuestion({ active, waiting, endsDaemon, forced }, this.#words);
      },
      toBackground: () => this.#window.hide(),
      finish: async () => {
        this.#quitting = true;
        if (moveTo !== undefined) {
          this.#memory.change({ remote: moveTo });
          startAgain();
        }
        await this.#supervisor.stop();
      },
    });
  }

  async #onReady(link: DaemonLink, restarted: boolean): Promise<void> {
    await follow(link, {
      onTotals: (told) => {
        this.#totals = totalsOf(told);
        this.#announcer.totals(told);
        this.#showStatus();
      },
      onChanged: (downloads) => this.#announcer.changed(downloads),
      onSettings: (settings) => this.#onSettings(settings),
    });
    // This notice also comes while the user looks at the list, where the downloads have stopped.
    if (restarted) this.#notify(this.#words.notice('engineRestarted'), () => this.#window.show());
    await Promise.all([this.#window.load(), this.#mini.load()]);
  }

  /** Applies language and theme, which the daemon keeps for the page as well. */
  #onSettings({ language, appearance }: AppSettings): void {
    nativeTheme.themeSource = appearance.theme;
    const words = wordsFor([language, app.getLocale()]);
    if (words === this.#words) return;
    this.#words = words;
    setAppMenu(words, this.#actions);
    this.#showStatus();
  }

  #showStatus(): void {
    this.#status.show(this.#daemonState, this.#totals, this.#words, this.#window.browserWindow);
  }

  /** Returns a link that logs the window in, once. */
  async #pageAddress(): Promise<string | undefined> {
    const { link, origin } = this.#supervisor;
    if (link === undefined || origin === undefined) return undefined;
    const login = await link.call('millrace.loginLink').catch(() => undefined);
    return login?.url ?? `${origin}/`;
  }

  #tell(message: ShellMessage): void {
    this.#window.show();
    this.#window.tell(message);
  }

  #reveal(gid: string | undefined): void {
    if (gid === undefined) this.#window.show();
    else this.#tell({ kind: 'reveal', gid });
  }

  #notify(text: NotifyText, onClick: () => void): void {
    notify(text, ICON, onClick);
  }

  #isLookedAt(): boolean {
    const window = this.#window.browserWindow;
    return window?.isVisible() === true && window.isFocused();
  }

  #offerCopied(urls: readonly string[]): void {
    const names = urls.slice(0, MAX_NAMES).map(nameOfUrl);
    if (urls.length > MAX_NAMES) names.push(this.#words.n('more', urls.length - MAX_NAMES));
    this.#notify({ title: this.#words.t('copied'), body: names.join(', ') }, () =>
      this.#tell({ kind: 'offer', from: 'clipboard', urls, metalinks: [] }),
    );
  }

  #change(changes: Partial<ShellPreferences>): ShellPreferences {
    const before = this.#preferences;
    const after = { ...before, ...changes };
    this.#memory.change({ preferences: after });
    if (after.watchClipboard !== before.watchClipboard) {
      void this.#clipboard.set(after.watchClipboard);
    }
    if (after.startAtLogin !== before.startAtLogin) setStartAtLogin(after.startAtLogin);
    if (after.browserHost !== before.browserHost) this.#setBrowserHost(after.browserHost);
    if (after.defaultHandler !== before.defaultHandler) setDefaultHandler(after.defaultHandler);
    return after;
  }

  /** Registers the host with browsers, or takes that back, once the change before is complete. */
  #setBrowserHost(on: boolean): void {
    this.#hostChange = this.#hostChange
      .then(() => setBrowserHost(on, this.#state, nativeHostMain()))
      .catch((error: unknown) => {
        process.stderr.write(`Browsers do not know the app: ${error}\n`);
      });
  }

  async #showRemote(address: string): Promise<ShellAnswer> {
    const { origin, ...answer } = await chooseRemote(address, this.#words);
    if (origin !== undefined) {
      this.#moveTo = origin;
      app.quit();
    }
    return answer;
  }

  async #chooseMetalinks(): Promise<void> {
    const files = await chooseMetalinks(this.#words);
    if (files.length > 0) await this.take({ urls: [], files, hidden: false }, '/');
  }

  /** Called when the user closes the window. @returns true to hide it: the app continues */
  #onCloseWindow(): boolean {
    if (this.#quitting) return false;
    if (!this.#preferences.stayInTray) {
      app.quit();
      return true;
    }
    if (!this.#memory.value.toldOfTray) {
      this.#memory.change({ toldOfTray: true });
      this.#notify(this.#words.notice('inTray'), () => this.#window.show());
    }
    return true;
  }

  async #tellGaveUp(reason: string): Promise<void> {
    const words = this.#words;
    for (;;) {
      const { response } = await dialog.showMessageBox({
        type: 'error',
        message: words.t('engineGone'),
        detail: `${words.t('engineGone.text')}\n\n${reason}`,
        buttons: [words.t('tryAgain'), words.t('showLog'), words.t('quit')],
        defaultId: 0,
        cancelId: 2,
        noLink: true,
      });
      if (response === 2) app.quit();
      if (response !== 1) return;
      await shell.openPath(logFile(this.#state));
    }
  }

  #call(method: 'millrace.pause' | 'millrace.resume'): Promise<unknown> {
    return this.#supervisor.link?.call(method).catch(() => {}) ?? Promise.resolve();
  }
}
