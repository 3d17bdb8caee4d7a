/**
 * The app's window in a real Electron: it is locked down, works with the system, and survives the
 * daemon's death.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { SHELL_API_MEMBERS, type ShellMessage } from '@millrace/shared/bridge/page/shell-api';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import type { DevTools } from '../../fixtures/pages/devtools.ts';
import { isAlive } from '../../fixtures/programs/daemon-cli.ts';
import { HostProcess } from '../../fixtures/programs/native-host.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { electronOrComplain, Screen, Shell, waiting } from '../../fixtures/programs/shell.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { electronProgram } from '../../fixtures/tools/electron-path.mjs';
import { becomes, until } from '../../fixtures/until.ts';

const START = fileURLToPath(new URL('../../../desktop/cli/launch/start.ts', import.meta.url));
const SIZE = 8_000_000;
/** Rate limit in bytes per second: a download at this rate outlasts any test here. */
const SLOW = 20_000;

let screen: Screen;
let origin: FaultOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let shell: Shell | undefined;
let page: DevTools;

const { afterAll, afterEach, beforeAll, beforeEach, test } = testsWhere(
  electronOrComplain('the window of the app'),
);

beforeAll(async () => {
  screen = await Screen.start();
  origin = await FaultOrigin.start();
  folder = await temporaryFolder();
  await Shell.build();
});

// All tests share one app, as starting it takes seconds. It is started again if a test ended it.
beforeEach(async () => {
  if (shell?.running !== true) {
    await shell?.kill();
    shell = await Shell.start(folder.path, screen.display);
  }
  await shell.forget();
  await shell.window('window.show()');
  page = await shell.page();
  origin.reset();
});

afterEach(() => page?.close());

afterAll(async () => {
  await shell?.kill();
  await origin?.stop();
  await screen?.stop();
  await folder?.remove();
});

/** Defines a test that uses the running app. */
function withElectron(name: string, body: (app: Shell) => Promise<void>): void {
  test(name, () => body(shell as Shell));
}

/** Whether the page is logged in. It logs in by itself, with the code in its address. */
const isLoggedIn = (shown: DevTools) =>
  shown.evaluate<boolean>("fetch('/session').then(({ status }) => status === 204)");

async function add(app: Shell, options: object): Promise<{ gid: string; url: string }> {
  const url = origin.url('none', { size: SIZE });
  const { gid } = await app.call('add', { urls: [url], ...options });
  return { gid, url };
}

const status = async (app: Shell, gid: string) =>
  (await app.call('status', { gid })) as DownloadView & { path: string };
const reaches = (app: Shell, gid: string, wanted: string) =>
  until(async () => (await status(app, gid)).status === wanted);

/** Collects the shell's messages to the page in `window.heard`. */
const listen = () =>
  page.evaluate(
    'void (window.stopHearing?.(), window.heard = [], window.stopHearing = millraceShell.onMessage((m) => heard.push(m)))',
  );
const heard = () => page.evaluate<ShellMessage[]>('heard');

withElectron(
  'the window shows the daemon’s page and nothing else, and gives it what it says',
  async (shell) => {
    const { url } = await shell.daemon();
    const own = new URL(url).origin;
    expect(await page.evaluate('location.origin')).toBe(own);
    expect(await page.evaluate('Object.keys(millraceShell).sort()')).toEqual(SHELL_API_MEMBERS);
    const kinds = 'Object.values(millraceShell).map((member) => typeof member)';
    expect(new Set(await page.evaluate<string[]>(kinds))).toEqual(
      new Set(['function', 'number', 'string']),
    );
    // Node and Electron are out of reach, and no member of the API can be replaced.
    for (const name of ['process', 'require', 'module', 'Buffer', 'electron', 'ipcRenderer']) {
      expect(await page.evaluate(`typeof window[${JSON.stringify(name)}]`)).toBe('undefined');
    }
    await page.evaluate('(() => { try { millraceShell.openFile = null } catch {} })()');
    expect(await page.evaluate('typeof millraceShell.openFile')).toBe('function');

    await until(() => isLoggedIn(page));
    expect(await page.evaluate('location.hash')).toBe('');
    expect(await page.evaluate('document.cookie')).toBe('');

    // No other pages, no other windows, no permissions, no requests elsewhere.
    await page.evaluate(`void window.open(${JSON.stringify(origin.url('none'))})`);
    await page.evaluate(`void (location.href = ${JSON.stringify(origin.url('none'))})`);
    await page.evaluate(`void (location.href = "file:///etc/passwd")`);
    expect(await page.evaluate('Notification.requestPermission()')).toBe('denied');
    const places = 'new Promise((yes, no) => navigator.geolocation.getCurrentPosition(yes, no))';
    expect(await page.evaluate(`${places}.catch((error) => error.code)`)).toBe(1);
    expect(await page.evaluate(`fetch("${origin.url('none')}").catch(() => "refused")`)).toBe(
      'refused',
    );
    expect(await page.evaluate('location.origin')).toBe(own);
    expect(await shell.window('millraceTest.electron.BrowserWindow.getAllWindows().length')).toBe(
      1,
    );
    expect(origin.requests).toEqual([]);
  },
);

withElectron(
  'calls accept only their own payload, and only from the daemon’s page',
  async (shell) => {
    const refused = (call: string) =>
      page.evaluate<string>(`${call}.then(() => "taken", (error) => String(error.message))`);
    expect(await refused('millraceShell.openFile("/etc/passwd")')).toMatch(/no gid/);
    expect(await refused('millraceShell.setPreferences({ watchClipboard: 1 })')).toMatch(/no pref/);
    expect(await refused('millraceShell.copyText({})')).toMatch(/no text/);
    expect(await page.evaluate('millraceShell.openFile("0123456789abcdef")')).toEqual({
      problem: expect.stringMatching(/not in the list/),
    });

    const changed = await page.evaluate('millraceShell.setPreferences({ startAtLogin: true })');
    expect(changed).toMatchObject({ startAtLogin: true, watchClipboard: false });
    const entry = join(folder.path, 'config', 'autostart', 'millrace.desktop');
    expect(await readFile(entry, 'utf8')).toMatch(/^Exec=.*"--hidden"$/m);
    await page.evaluate('millraceShell.setPreferences({ startAtLogin: false })');
    await expect(readFile(entry)).rejects.toThrow();

    // The user has a browser from now on.
    await mkdir(join(folder.path, 'config', 'chromium'));
    const hosts = join(folder.path, 'config', 'chromium', 'NativeMessagingHosts');
    const browserHost = (on: boolean) =>
      page.evaluate(`millraceShell.setPreferences({ browserHost: ${on} })`);
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

withElectron(
  'a file downloads with the window closed; tray, taskbar and notification tell',
  async (shell) => {
    await shell.window('window.close()');
    await shell.windowIs('!window.isVisible()');
    // A kind of file that opens without a question.
    const { gid, url } = await add(shell, { limit: 400_000, file: 'film.mkv' });
    // Fast only once the running download has been shown.
    await shell.records(
      ({ trayTexts, progress }) =>
        trayTexts.some((text) => /1 download · \d+% · .*\/s/.test(text)) &&
        progress.some((share) => share > 0 && share < 1),
    );
    await shell.call('change', { gid, limit: null });
    await shell.records(
      ({ notifications, trayTexts, progress }) =>
        notifications.some(({ title }) => title === 'Download complete') &&
        /Nothing is being downloaded/.test(trayTexts.at(-1) ?? '') &&
        progress.at(-1) === -1,
    );
    const { path } = await status(shell, gid);
    expect(sha256(await readFile(path))).toBe(origin.digest(url));
    const recorded = await shell.recorded();
    // The app told the user once that it keeps running after the window is closed.
    expect(recorded.notifications.map(({ title }) => title)).toEqual([
      'Millrace keeps running in the background',
      'Download complete',
    ]);

    // A click shows the download; from there its file can be opened.
    await listen();
    await shell.main.evaluate('void millraceTest.live[1].emit("click")');
    await shell.windowIs('window.isVisible()');
    await page.evaluate(waiting('heard.length > 0'));
    expect(await heard()).toEqual([{ kind: 'reveal', gid }]);
    expect(await page.evaluate(`millraceShell.openFile("${gid}")`)).toEqual({});
    expect(await page.evaluate(`millraceShell.showInFolder("${gid}")`)).toEqual({});
    expect(await shell.recorded()).toMatchObject({ opened: [path], shown: [path] });
  },
);

withElectron('language and theme follow the settings of the page', async (shell) => {
  await shell.call('setSettings', { language: 'de', appearance: { theme: 'dark' } });
  await shell.records(({ trayTexts }) =>
    trayTexts.some((text) => text.includes('Nichts wird heruntergeladen')),
  );
  const labels = 'millraceTest.electron.Menu.getApplicationMenu().items.map(({ label }) => label)';
  await becomes(
    () => shell.window<string[]>(labels),
    ['Datei', 'Bearbeiten', 'Downloads', 'Ansicht', 'Hilfe'],
  );
  await page.evaluate(waiting('matchMedia("(prefers-color-scheme: dark)").matches'));
  await shell.call('setSettings', { language: 'en', appearance: { theme: 'system' } });
  await shell.records(
    ({ trayTexts }) => trayTexts[trayTexts.length - 1]?.includes('Nothing') ?? false,
  );
});

/** Clicks the first element that matches the selector and has the text. */
const click = (selector: string, text: string) =>
  page.evaluate(`(() => {
    const all = [...document.querySelectorAll(${JSON.stringify(selector)})];
    const found = all.find((one) => one.textContent.trim() === ${JSON.stringify(text)});
    const event = { bubbles: true, button: 0, ctrlKey: false };
    found.dispatchEvent(new MouseEvent('mousedown', event));
    found.click();
  })()`);

withElectron(
  'the list is exported to a file; nothing else is saved by the window',
  async (shell) => {
    await page.evaluate(waiting('document.querySelector(".side-item")'));
    const path = join(folder.path, 'exported.json');
    await shell.main.evaluate(`void (globalThis.saved = [], millraceTest.electron.session.defaultSession
    .on('will-download', (event, item) => {
      item.setSavePath(${JSON.stringify(path)});
      item.once('done', (_event, state) => saved.push(state));
    }))`);
    await click('button', 'Settings');
    await page.evaluate(waiting('document.querySelector("[role=dialog] [role=tab]")'));
    await click('[role=tab]', 'Import & export');
    await page.evaluate(waiting('document.querySelector(".exchange")'));
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

withElectron('the page is laid out correctly in this Chromium as well', async (shell) => {
  await page.evaluate(waiting('document.querySelector("[role=dialog] [role=tab]")'));
  await click('[role=tab]', 'Schedule');
  await page.evaluate(waiting('document.querySelector(".week")'));
  await click('[role=tabpanel] button', 'Add time window');
  await page.evaluate(waiting('document.querySelectorAll(".days button").length === 7'));
  const tops =
    '[...document.querySelectorAll(".days button")].map((b) => b.getBoundingClientRect().top)';
  expect(new Set(await page.evaluate<number[]>(tops)).size).toBe(1);
  await page.evaluate('document.querySelector("[role=dialog] [aria-label=Close]").click()');
  await page.evaluate(waiting('!document.querySelector("[role=dialog]")'));

  // Where the details cover the list, a menu covers both.
  await shell.window('window.setSize(1000, 700)');
  const { gid } = await add(shell, { paused: true });
  await page.evaluate(waiting(`document.querySelector('[data-gid="${gid}"]')`));
  await page.evaluate(`document.querySelector('[data-gid="${gid}"]').click()`);
  await page.evaluate('document.querySelector(".tools [aria-pressed=false]")?.click()');
  await page.evaluate(waiting('document.querySelector(".details")'));
  await page.evaluate(`document.querySelector('[data-gid="${gid}"]').dispatchEvent(
    new MouseEvent('contextmenu', { bubbles: true, clientX: 560, clientY: 200, button: 2 }))`);
  await page.evaluate(waiting('document.querySelector("[role=menu]")'));
  const covered = `(() => {
    const menu = document.querySelector('[role=menu]').getBoundingClientRect();
    const details = document.querySelector('.details').getBoundingClientRect();
    const top = document.elementFromPoint(menu.right - 4, menu.top + 12);
    return [details.left < menu.right, details.top, top.closest('[role=menu]') !== null];
  })()`;
  await page.evaluate(waiting(`(${covered})[2]`));
  expect(await page.evaluate(covered)).toEqual([true, 0, true]);
  await shell.call('remove', { gids: [gid], forget: true });
});

withElectron('a second start hands over its links and files, and ends', async (shell) => {
  await shell.window('window.close()');
  await listen();
  const before = await shell.call('list');
  const metalink = '<metalink xmlns="urn:ietf:params:xml:ns:metalink"/>';
  await writeFile(join(folder.path, 'several files.meta4'), metalink);
  const url = 'https://example.com/a file.iso?x=1&y=2';
  await shell.startAgain(`millrace:?url=${encodeURIComponent(url)}`);
  await shell.startAgain(join(folder.path, 'several files.meta4'));
  await page.evaluate(waiting('heard.length === 2'));
  expect(await heard()).toEqual([
    { kind: 'offer', from: 'link', urls: [url], metalinks: [] },
    {
      kind: 'offer',
      from: 'file',
      urls: [],
      metalinks: [
        { name: 'several files.meta4', metalink: Buffer.from(metalink).toString('base64') },
      ],
    },
  ]);
  await shell.windowIs('window.isVisible()');
  // No download starts before the user agrees.
  expect(await shell.call('list')).toEqual(before);
});

withElectron('copied links are offered once the user has turned that on', async (shell) => {
  await page.evaluate('millraceShell.setPreferences({ watchClipboard: true })');
  await listen();
  const copy = (text: string) =>
    shell.main.evaluate(`void millraceTest.electron.clipboard.writeText(${JSON.stringify(text)})`);
  await page.evaluate('millraceShell.copyText("https://example.com/our-own.iso")');
  await copy('https://example.com/copied.iso');
  await shell.records(({ notifications }) => notifications.length > 0);
  expect((await shell.recorded()).notifications).toEqual([
    { title: 'Download what you copied?', body: 'copied.iso' },
  ]);
  await shell.main.evaluate('void millraceTest.live[0].emit("click")');
  await page.evaluate(waiting('heard.length > 0'));
  expect(await heard()).toEqual([
    { kind: 'offer', from: 'clipboard', urls: ['https://example.com/copied.iso'], metalinks: [] },
  ]);
});

withElectron('a daemon that is killed is started again, and the user is told', async (shell) => {
  const { gid, url } = await add(shell, { limit: SLOW });
  await reaches(shell, gid, 'active');
  const before = await shell.daemon();
  process.kill(before.pid, 'SIGKILL');
  await shell.records(({ notifications }) =>
    notifications.some(({ title }) => title === 'The engine stopped and was started again'),
  );
  const after = await shell.daemon();
  expect(after.pid).not.toBe(before.pid);
  await shell.call('change', { gid, limit: null });
  await reaches(shell, gid, 'complete').catch(async (e) => {
    console.log(JSON.stringify(await status(shell, gid)));
    throw e;
  });
  expect(sha256(await readFile((await status(shell, gid)).path))).toBe(origin.digest(url));
  await shell.windowIs(`window.webContents.getURL().startsWith('${new URL(after.url).origin}')`);
});

withElectron(
  'a daemon started again at the same address has its page loaded anew',
  async (shell) => {
    const { pid, url } = await shell.daemon();
    await page.evaluate('void (window.isOld = true)');
    process.kill(pid, 'SIGKILL');
    await shell.records(({ notifications }) =>
      notifications.some(({ title }) => title === 'The engine stopped and was started again'),
    );
    expect((await shell.daemon()).url).toBe(url);
    await until(async () => {
      const now = await shell.page();
      const isNew = await now.evaluate<boolean>(
        'window.isOld === undefined && location.search === ""',
      );
      const isHere = isNew && (await isLoggedIn(now));
      now.close();
      return isHere;
    });
  },
);

withElectron(
  'quitting asks while something runs, and then ends the daemon as well',
  async (shell) => {
    const { gid } = await add(shell, { limit: SLOW });
    await reaches(shell, gid, 'active');
    await shell.records(({ trayTexts }) => trayTexts.some((text) => text.includes('1 download')));
    const [BACKGROUND, QUIT, CANCEL] = [0, 1, 2];
    await shell.willAnswer(CANCEL);
    await shell.quit();
    await shell.records(({ dialogs }) => dialogs.length === 1);
    expect(await shell.window('window.isVisible()')).toBe(true);
    await shell.willAnswer(BACKGROUND);
    await shell.quit();
    await shell.windowIs('!window.isVisible()');
    expect((await status(shell, gid)).status).toBe('active');
    const { dialogs } = await shell.recorded();
    expect(dialogs[0]?.message).toBe('Quit while 1 download is running?');

    const { pid } = await shell.daemon();
    await shell.willAnswer(QUIT);
    await shell.quit();
    await shell.ended();
    expect(isAlive(pid)).toBe(false);
  },
);

// Ctrl-C sends INT; a second signal comes from `npm start` or an impatient user.
test.each([[['TERM']], [['INT', 'INT']], [['INT', 'TERM']]])(
  'a shell ended by a signal while it starts its daemon leaves no daemon behind: %p',
  async (signals) => {
    if (screen === undefined) return;
    const own = await temporaryFolder();
    // The daemon's own process sends the signals as it starts, neither before nor after.
    const [node, pidFile] = [join(own.path, 'node'), join(own.path, 'pid')];
    const lines = [
      '#!/bin/sh',
      `echo $$ > "${pidFile}"`,
      ...signals.map((signal) => `kill -${signal} $PPID`),
      `exec "${process.execPath}" "$@"`,
    ];
    await writeFile(node, lines.join('\n'), { mode: 0o755 });
    const child = await Shell.startWithNode(own.path, screen.display, node);
    child.stderr?.resume();
    await once(child, 'exit');
    const pid = Number(await readFile(pidFile, 'utf8'));
    const left = isAlive(pid);
    if (left) process.kill(pid, 'SIGKILL');
    expect(left).toBe(false);
    expect([child.exitCode, child.signalCode]).toEqual([0, null]);
    await own.remove();
  },
);

withElectron('npm start opens the window beside an edge, and ends both', async () => {
  const own = await temporaryFolder();
  const state = join(own.path, 'state');
  const child = spawn(process.execPath, [START], {
    env: {
      ...process.env,
      DISPLAY: screen?.display,
      HOME: own.path,
      MILLRACE_STATE: state,
      MILLRACE_EDGE_PORT: '0',
      ELECTRON_OVERRIDE_DIST_PATH: dirname(electronProgram() as string),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.on('data', (data) => {
    said += data;
  });
  const pidIn = async (name: string): Promise<number> =>
    JSON.parse(await readFile(join(state, name), 'utf8').catch(() => '{}')).pid ?? 0;
  // The app writes this file once it has its daemon.
  await until(() => existsSync(join(state, 'shell.json')));
  const pids = [await pidIn('daemon.json'), await pidIn('edge.json')];
  // The program hears of the file, too, and then says so.
  await until(() => /A Millrace edge runs at http:.*The app is open/s.test(said));
  child.kill('SIGTERM');
  await once(child, 'exit');
  await until(() => !pids.some(isAlive));
  await own.remove();
});
