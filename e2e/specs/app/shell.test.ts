/** The app's window in a real Electron: it is locked down, and works with page and system. */

import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { SHELL_API_MEMBERS } from '@millrace/shared/bridge/page/shell-api';
import { HostProcess } from '../../fixtures/programs/native-host.ts';
import { waiting } from '../../fixtures/programs/shell.ts';
import { isLoggedIn, ShellStage, SLOW } from '../../fixtures/stages/shell-stage.ts';
import { becomes, until } from '../../fixtures/until.ts';

const stage = new ShellStage();

/** Clicks the first element that matches the selector and has the text. */
const click = (selector: string, text: string) =>
  stage.page.evaluate(`(() => {
    const all = [...document.querySelectorAll(${JSON.stringify(selector)})];
    const found = all.find((one) => one.textContent.trim() === ${JSON.stringify(text)});
    const event = { bubbles: true, button: 0, ctrlKey: false };
    found.dispatchEvent(new MouseEvent('mousedown', event));
    found.click();
  })()`);

stage.withElectron(
  'the window shows the daemon’s page and nothing else, and gives it what it says',
  async (shell) => {
    const { url } = await shell.daemon();
    const own = new URL(url).origin;
    expect(await stage.page.evaluate('location.origin')).toBe(own);
    expect(await stage.page.evaluate('Object.keys(millraceShell).sort()')).toEqual(
      SHELL_API_MEMBERS,
    );
    const kinds = 'Object.values(millraceShell).map((member) => typeof member)';
    expect(new Set(await stage.page.evaluate<string[]>(kinds))).toEqual(
      new Set(['function', 'number', 'string']),
    );
    // Node and Electron are out of reach, and no member of the API can be replaced.
    for (const name of ['process', 'require', 'module', 'Buffer', 'electron', 'ipcRenderer']) {
      expect(await stage.page.evaluate(`typeof window[${JSON.stringify(name)}]`)).toBe('undefined');
    }
    await stage.page.evaluate('(() => { try { millraceShell.openFile = null } catch {} })()');
    expect(await stage.page.evaluate('typeof millraceShell.openFile')).toBe('function');

    await until(() => isLoggedIn(stage.page));
    expect(await stage.page.evaluate('location.hash')).toBe('');
    expect(await stage.page.evaluate('document.cookie')).toBe('');

    // No other pages, no other windows, no permissions, no requests elsewhere.
    await stage.page.evaluate(`void window.open(${JSON.stringify(stage.origin.url('none'))})`);
    await stage.page.evaluate(`void (location.href = ${JSON.stringify(stage.origin.url('none'))})`);
    await stage.page.evaluate(`void (location.href = "file:///etc/passwd")`);
    expect(await stage.page.evaluate('Notification.requestPermission()')).toBe('denied');
    const places = 'new Promise((yes, no) => navigator.geolocation.getCurrentPosition(yes, no))';
    expect(await stage.page.evaluate(`${places}.catch((error) => error.code)`)).toBe(1);
    expect(
      await stage.page.evaluate(`fetch("${stage.origin.url('none')}").catch(() => "refused")`),
    ).toBe('refused');
    expect(await stage.page.evaluate('location.origin')).toBe(own);
    expect(await shell.window('millraceTest.electron.BrowserWindow.getAllWindows().length')).toBe(
      1,
    );
    expect(stage.origin.requests).toEqual([]);
  },
);

stage.withElectron(
  'calls accept only their own payload, and only from the daemon’s page',
  async (shell) => {
    const refused = (call: string) =>
      stage.page.evaluate<string>(`${call}.then(() => "taken", (error) => String(error.message))`);
    expect(await refused('millraceShell.openFile("/etc/passwd")')).toMatch(/no gid/);
    expect(await refused('millraceShell.setPreferences({ watchClipboard: 1 })')).toMatch(/no pref/);
    expect(await refused('millraceShell.copyText({})')).toMatch(/no text/);
    expect(await stage.page.evaluate('millraceShell.openFile("0123456789abcdef")')).toEqual({
      problem: expect.stringMatching(/not in the list/),
    });

    // The user, not the page, decides whether the window shows another machine's daemon.
    expect(await stage.page.evaluate('millraceShell.showRemote("http://nas.example")')).toEqual({
      problem: expect.stringMatching(/like https:/),
    });
    await stage.page.evaluate('millraceShell.showRemote("nas.example")');
    expect((await shell.recorded()).dialogs).toEqual([
      {
        message: 'Show the Millrace of nas.example in this window?',
        buttons: ['Start Again', 'Cancel'],
      },
    ]);

    const changed = await stage.page.evaluate(
      'millraceShell.setPreferences({ startAtLogin: true })',
    );
    expect(changed).toMatchObject({ startAtLogin: true, watchClipboard: false });
    const entry = join(stage.folder, 'config', 'autostart', 'millrace.desktop');
    expect(await readFile(entry, 'utf8')).toMatch(/^Exec=.*"--hidden"$/m);
    await stage.page.evaluate('millraceShell.setPreferences({ startAtLogin: false })');
    await expect(readFile(entry)).rejects.toThrow();

    // The user has a browser from now on.
    await mkdir(join(stage.folder, 'config', 'chromium'));
    const hosts = join(stage.folder, 'config', 'chromium', 'NativeMessagingHosts');
    const browserHost = (on: boolean) =>
      stage.page.evaluate(`millraceShell.setPreferences({ browserHost: ${on} })`);
    const registered = () => readdir(hosts).catch((): string[] => []);
    await browserHost(false);
    await browserHost(true);
    await until(async () => (await registered()).includes('dev.millrace.host.json'));
    const manifest = await readFile(join(hosts, 'dev.millrace.host.json'), 'utf8');
    const host = await HostProcess.greeted({ env: {}, program: [JSON.parse(manifest).path] });
    expect((await host.call('list', { limit: 1 })).downloads).toHaveLength(0);
    expect(await host.end()).toBe(0);
    await browserHost(false);
    await until(async () => (await registered()).length === 0);

    // Another page in the same window gets no answer.
    await shell.window(`window.loadFile("${join(shell.files, 'pages', 'starting.html')}")`);
    const other = await shell.anyPage();
    expect(await other.evaluate('location.protocol')).toBe('file:');
    const call = 'millraceShell.getPreferences().then(() => "taken", (error) => error.message)';
    expect(await other.evaluate(call)).toMatch(/may not call/);
    other.close();
    await shell.window(`window.loadURL("${new URL((await shell.daemon()).url).origin}/")`);
  },
);

stage.withElectron('language and theme follow the settings of the page', async (shell) => {
  await shell.call('setSettings', { language: 'de', appearance: { theme: 'dark' } });
  await shell.records(({ trayTexts }) =>
    trayTexts.some((text) => text.includes('Nichts wird heruntergeladen')),
  );
  const labels = 'millraceTest.electron.Menu.getApplicationMenu().items.map(({ label }) => label)';
  await becomes(
    () => shell.window<string[]>(labels),
    ['Datei', 'Bearbeiten', 'Downloads', 'Ansicht', 'Hilfe'],
  );
  await stage.page.evaluate(waiting('matchMedia("(prefers-color-scheme: dark)").matches'));
  await shell.call('setSettings', { language: 'en', appearance: { theme: 'system' } });
  await shell.records(
    ({ trayTexts }) => trayTexts[trayTexts.length - 1]?.includes('Nothing') ?? false,
  );
});

stage.withElectron(
  'the list is exported to a file; nothing else is saved by the window',
  async (shell) => {
    await stage.page.evaluate(waiting('document.querySelector(".side-item")'));
    const path = join(stage.folder, 'exported.json');
    await shell.main.evaluate(`void (globalThis.saved = [], millraceTest.electron.session.defaultSession
    .on('will-download', (event, item) => {
      item.setSavePath(${JSON.stringify(path)});
      item.once('done', (_event, state) => saved.push(state));
    }))`);
    await click('button', 'Settings');
    await stage.page.evaluate(waiting('document.querySelector("[role=dialog] [role=tab]")'));
    await click('[role=tab]', 'Import & export');
    await stage.page.evaluate(waiting('document.querySelector(".exchange")'));
    await click('.exchange button', 'Export to a file…');
    await until(() => shell.main.evaluate<boolean>('saved.length > 0'));
    expect(await shell.main.evaluate('saved')).toEqual(['completed']);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ millrace: 'downloads' });
    // Every other download by the window is prevented.
    const started =
      'new Promise((resolve) => millraceTest.electron.session.defaultSession' +
      ".once('will-download', (event) => resolve(event.defaultPrevented)))";
    const prevented = shell.main.evaluate<boolean>(started);
    await shell.window('window.webContents.downloadURL(window.webContents.getURL())');
    expect(await prevented).toBe(true);
  },
);

stage.withElectron(
  'the mini window is above all others, shows what runs, and keeps its place',
  async (shell) => {
    const { gid } = await stage.add(shell, { limit: SLOW });
    const mini = <T>(expression: string) =>
      shell.main.evaluate<T>(
        `(([window]) => ${expression})(millraceTest.electron.BrowserWindow.getAllWindows()
          .filter((one) => one.isAlwaysOnTop()))`,
      );
    const inMini = <T>(expression: string) =>
      mini<T>(`window.webContents.executeJavaScript(${JSON.stringify(expression)})`);
    await shell.main.evaluate(`void millraceTest.electron.Menu.getApplicationMenu().items
      .flatMap(({ submenu }) => (submenu ? submenu.items : []))
      .find(({ label }) => label === 'Mini Window').click()`);
    const isShown = "window !== undefined && window.webContents.getURL().includes('/mini')";
    await until(() => mini<boolean>(isShown));
    const words = 'document.body.textContent';
    await until(async () => (await inMini<string>(words)).includes('1 running'));
    // Only the page of the main window may call the app.
    expect(await inMini('typeof millraceShell')).toBe('undefined');

    const place = { x: 40, y: 60, width: 300, height: 200 };
    await mini(`void window.setBounds(${JSON.stringify(place)})`);
    await becomes(() => mini('window.getBounds()'), place);
    await mini('void window.close()');
    await until(() => mini<boolean>('window === undefined'));
    // The page opens it as well.
    await stage.page.evaluate('void window.open("/mini")');
    await until(() => mini<boolean>(isShown));
    await becomes(() => mini('window.getBounds()'), place);
    await mini('void window.close()');
    await until(() => mini<boolean>('window === undefined'));
    await shell.call('remove', { gids: [gid], forget: true });
  },
);

stage.withElectron('the page is laid out correctly in this Chromium as well', async (shell) => {
  await stage.page.evaluate(waiting('document.querySelector("[role=dialog] [role=tab]")'));
  await click('[role=tab]', 'Schedule');
  await stage.page.evaluate(waiting('document.querySelector(".week")'));
  await click('[role=tabpanel] button', 'Add time window');
  await stage.page.evaluate(waiting('document.querySelectorAll(".days button").length === 7'));
  const tops =
    '[...document.querySelectorAll(".days button")].map((b) => b.getBoundingClientRect().top)';
  expect(new Set(await stage.page.evaluate<number[]>(tops)).size).toBe(1);
  await stage.page.evaluate('document.querySelector("[role=dialog] [aria-label=Close]").click()');
  await stage.page.evaluate(waiting('!document.querySelector("[role=dialog]")'));

  // Where the details cover the list, a menu covers both.
  await shell.window('window.setSize(1000, 700)');
  const { gid } = await stage.add(shell, { paused: true });
  await stage.page.evaluate(waiting(`document.querySelector('[data-gid="${gid}"]')`));
  await stage.page.evaluate(`document.querySelector('[data-gid="${gid}"]').click()`);
  await stage.page.evaluate('document.querySelector(".tools [aria-pressed=false]")?.click()');
  await stage.page.evaluate(waiting('document.querySelector(".details")'));
  await stage.page.evaluate(`document.querySelector('[data-gid="${gid}"]').dispatchEvent(
    new MouseEvent('contextmenu', { bubbles: true, clientX: 560, clientY: 200, button: 2 }))`);
  await stage.page.evaluate(waiting('document.querySelector("[role=menu]")'));
  const covered = `(() => {
    const menu = document.querySelector('[role=menu]').getBoundingClientRect();
    const details = document.querySelector('.details').getBoundingClientRect();
    const top = document.elementFromPoint(menu.right - 4, menu.top + 12);
    return [details.left < menu.right, details.top, top.closest('[role=menu]') !== null];
  })()`;
  await stage.page.evaluate(waiting(`(${covered})[2]`));
  expect(await stage.page.evaluate(covered)).toEqual([true, 0, true]);
  await shell.call('remove', { gids: [gid], forget: true });
});

stage.withElectron(
  'the page that a link was on opens in the browser of the system',
  async (shell) => {
    const page = 'https://pages.example/downloads';
    const open = (gid: string) => stage.page.evaluate(`millraceShell.openPage("${gid}")`);
    const unknown = await stage.add(shell, { paused: true });
    expect(await open(unknown.gid)).toEqual({ problem: expect.stringMatching(/not known/) });
    const { gid } = await stage.add(shell, { paused: true, headers: { referer: page } });
    expect(await open(gid)).toEqual({});
    expect((await shell.recorded()).pages).toEqual([page]);
    await shell.call('remove', { gids: [gid, unknown.gid], forget: true });
  },
);

stage.withElectron('copied links are offered once the user has turned that on', async (shell) => {
  await stage.page.evaluate('millraceShell.setPreferences({ watchClipboard: true })');
  await stage.listen();
  const copy = (text: string) =>
    shell.main.evaluate(`void millraceTest.electron.clipboard.writeText(${JSON.stringify(text)})`);
  await stage.page.evaluate('millraceShell.copyText("https://example.com/our-own.iso")');
  await copy('https://example.com/copied.iso');
  await shell.records(({ notifications }) => notifications.length > 0);
  expect((await shell.recorded()).notifications).toEqual([
    { title: 'Download what you copied?', body: 'copied.iso' },
  ]);
  await shell.main.evaluate('void millraceTest.live[0].emit("click")');
  await stage.page.evaluate(waiting('heard.length > 0'));
  expect(await stage.heard()).toEqual([
    { kind: 'offer', from: 'clipboard', urls: ['https://example.com/copied.iso'], metalinks: [] },
  ]);
});
