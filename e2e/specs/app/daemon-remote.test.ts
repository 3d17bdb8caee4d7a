/**
 * A daemon on another machine: used by a browser, the command line and the extension of this one. The
 * other machine is a network namespace, where the daemon has the port of https to itself.
 */

import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { BrowserFiles } from '../../fixtures/origins/browser-files.ts';
import { makeCertificate } from '../../fixtures/origins/certificate.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { DevTools } from '../../fixtures/pages/devtools.ts';
import { buildExtension, ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { browserOrComplain, launchBrowser, PAGE, rowOf, says } from '../../fixtures/pages/ui.ts';
import { openWindow } from '../../fixtures/pages/window.ts';
import { CLI, DAEMON } from '../../fixtures/programs/main-files.ts';
import { Namespace, namespacesOrComplain } from '../../fixtures/programs/namespace.ts';
import { runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { electronOrComplain, Screen, Shell, waiting } from '../../fixtures/programs/shell.ts';
import { isLoggedIn } from '../../fixtures/stages/shell-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const WHAT = 'daemons on other machines';
const available = browserOrComplain(WHAT) && namespacesOrComplain(WHAT);
const { afterAll, beforeAll, test } = testsWhere(available);

const PASSWORD = 'correct horse';
const body = contentOf('nas', 3_000_000);
/** Where pictures of the page are written, if anywhere: for people to look at. */
const PICTURES = process.env.MILLRACE_PICTURES;

/** A window of an app that can be looked into. */
interface Target {
  readonly id: string;
  readonly url: string;
  readonly webSocketDebuggerUrl: string;
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let nas: Namespace;
let files: FileServer;
let daemon: ChildProcess;
let browser: Browser;
let page: Page;
let problems: string[];
/** Address of the daemon. */
let url: string;
/** Path of its certificate. */
let cert: string;
/** Environment of the command line on this machine. */
let env: Record<string, string>;

beforeAll(async () => {
  folder = await temporaryFolder();
  nas = new Namespace();
  // With it the namespace has a loopback.
  nas.addAddress('192.0.2.77/32');
  files = await FileServer.start(nas.hostAddress);
  const [state, dir] = [join(folder.path, 'nas'), join(folder.path, 'downloads')];
  await mkdir(dir);
  url = `https://${nas.insideAddress}`;
  const pair = makeCertificate(folder.path, 'nas', [nas.insideAddress]);
  cert = pair.cert;
  env = {
    MILLRACE_STATE: join(folder.path, 'laptop'),
    HOME: folder.path,
    NO_COLOR: '1',
    NODE_EXTRA_CA_CERTS: cert,
  };
  execFileSync(process.execPath, [CLI, 'daemon', 'account', 'add', 'Ann'], {
    env: { ...process.env, MILLRACE_STATE: state },
    input: `${PASSWORD}\n`,
  });
  daemon = nas.spawn(process.execPath, [
    ...[DAEMON, '--state', state, '--dir', dir, '--port', '0', '--page', PAGE],
    ...['--host', '0.0.0.0', '--remote-port', '443', '--public-url', url],
    ...['--tls-cert', cert, '--tls-key', pair.key],
  ]);
  const log: string[] = [];
  daemon.stderr?.on('data', (data) => log.push(String(data)));
  const lines = createInterface({ input: daemon.stdout as NodeJS.ReadableStream });
  const line = await new Promise<string>((resolve) => {
    lines.on('line', (text) => {
      if (/^Other machines/.test(text)) resolve(text);
    });
    daemon.once('close', () => resolve(''));
  });
  if (line === '') throw new Error(`the daemon did not start: ${log.join('')}`);
  browser = await launchBrowser();
  ({ page, problems } = await openWindow(browser, /401|WebSocket/, {
    viewport: { width: 1280, height: 800 },
    ignoreHTTPSErrors: true,
  }));
});

afterAll(async () => {
  await browser?.close();
  if (daemon?.exitCode === null) {
    daemon.kill();
    await once(daemon, 'exit');
  }
  nas?.remove();
  await files?.stop();
  await folder?.remove();
});

/** Returns whether the file at a path is there, and complete. */
const holds = (path: string) =>
  readFile(path).then(
    (bytes) => sha256(bytes) === sha256(body),
    () => false,
  );

/** Takes pictures in both themes and in a narrow window, if somebody wants to see them. */
async function picture(name: string): Promise<void> {
  if (PICTURES === undefined) return;
  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 380],
    ['dark', 380],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 800 });
    await page.screenshot({ path: join(PICTURES, `${name}-${scheme}-${width}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 800 });
}

test('somebody logs in from another machine, with a link that a phone has shared, and downloads', async () => {
  const link = files.add('/film.bin', { body });
  await page.goto(`${url}/?title=A+film&url=${encodeURIComponent(link)}`);
  await page.getByRole('textbox', { name: 'Name' }).fill('ann');
  await page.getByRole('textbox', { name: 'Password' }).fill('wrong horse');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Name or password is wrong.').waitFor();
  expect(await barriers(page)).toEqual([]);
  await picture('log-in');
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 link found').waitFor();
  // Any site can lead here: nothing is added before the user says so.
  expect(files.requests).toHaveLength(0);
  await dialog.getByRole('button', { name: 'Add 1 download' }).click();
  await says(rowOf(page, 'film.bin'), /./);
  const path = join(folder.path, 'downloads', 'film.bin');
  await until(() =>
    readFile(path).then(
      (bytes) => sha256(bytes) === sha256(body),
      () => false,
    ),
  );
});

test('the command line of this machine is paired by a code, and revoked', async () => {
  const remote = (...words: string[]) => runCli([...words, '--remote', url], env);
  expect((await remote('list')).stderr).toMatch(/does not know this one/);
  await page.keyboard.press('Control+,');
  await page.getByRole('tab', { name: 'Devices' }).click();
  await page.getByRole('button', { name: 'Pair a device' }).click();
  const code = (await page.locator('.pairing-code').textContent()) ?? '';
  expect(await barriers(page)).toEqual([]);
  const wrong = await remote('pair', 'AAAA-AAAA');
  expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringMatching(/the code is not valid/)]);
  expect(await remote('pair', code, '--name', 'laptop')).toMatchObject({ code: 0 });
  const listed = await remote('list', '--json');
  expect(JSON.parse(listed.stdout).downloads).toMatchObject([
    { name: 'film.bin', status: 'complete' },
  ]);
  const link = files.add('/song.bin', { body: body.subarray(0, 70_000) });
  expect(await remote('add', link, '--dir', 'music')).toMatchObject({ code: 0 });
  const path = join(folder.path, 'downloads', 'music', 'song.bin');
  await until(() =>
    readFile(path).then(
      (bytes) => bytes.length === 70_000,
      () => false,
    ),
  );
  const outside = await remote('add', link, '--dir', '/etc');
  expect([outside.code, outside.stderr]).toEqual([
    4,
    expect.stringMatching(/from another machine/),
  ]);
  const device = page.getByRole('listitem').filter({ hasText: 'laptop' });
  await device.waitFor();
  await picture('devices');
  await fits(page);
  await device.getByRole('button', { name: /^Revoke/ }).click();
  await device.waitFor({ state: 'detached' });
  expect((await remote('list')).stderr).toMatch(/does not know this one/);
});

test('the extension is paired by a code, and hands downloads over, until it is revoked', async () => {
  const origin = await BrowserFiles.start(nas.hostAddress);
  // Chromium asks the user about files without TLS, unless they are from its own machine.
  const near = await BrowserFiles.start();
  const { chromium } = await buildExtension(join(folder.path, 'built'));
  const extension = await ExtensionBrowser.start({ extension: chromium, trusts: cert });
  try {
    // The code of the test before is on the page until the new one comes.
    const shown = page.locator('.pairing-code');
    const used = await shown.textContent();
    await page.getByRole('button', { name: 'Pair a device' }).click();
    await until(async () => (await shown.textContent()) !== used);
    const code = (await shown.textContent()) ?? '';
    const options = await extension.ownPage('options.html#remote');
    const remote = options.locator('#remote');
    await remote.getByRole('textbox', { name: 'Address' }).fill(url);
    await remote.getByRole('textbox', { name: 'Pairing code' }).fill('AAAA-AAAA');
    await remote.getByRole('button', { name: 'Pair' }).click();
    await remote.getByText('The code is wrong').waitFor();
    await remote.getByRole('textbox', { name: 'Pairing code' }).fill(code);
    await remote.getByRole('button', { name: 'Pair' }).click();
    await remote.getByText(`Paired with ${nas.insideAddress}`).waitFor();
    await remote.getByRole('button', { name: 'Send downloads there' }).click();
    await remote.getByText('Downloads go there.').waitFor();
    expect(await barriers(options)).toEqual([]);
    if (PICTURES !== undefined) {
      await options.screenshot({ path: join(PICTURES, 'extension-remote.png') });
    }
    await extension.set({ minBytes: 1024 * 1024 });

    const click = async (from: BrowserFiles, name: string) => {
      const file = { body, name, cookie: 'session=42' };
      const tab = await extension.context.newPage();
      await tab.goto(from.add(`/${name}`, file));
      await tab.locator('#link').click();
    };
    const listed = async (name: string) =>
      (await extension.listed()).filter((one) => one.url.endsWith(name));
    await click(origin, 'taken.bin');
    await until(() => holds(join(folder.path, 'downloads', 'taken.bin')));
    await until(async () => (await listed('taken.bin')).length === 0);

    const device = page.getByRole('listitem').filter({ hasText: 'Millrace, Chrome' });
    await device.getByRole('button', { name: /^Revoke/ }).click();
    await device.waitFor({ state: 'detached' });
    await remote.getByText('It does not know this browser any more').waitFor();
    await click(near, 'kept.bin');
    await until(() => near.held > 0);
    near.release();
    await until(async () => (await listed('kept.bin'))[0]?.state === 'complete');
    await until(async () => (await extension.handOffs()) === 0);
    expect(await holds(join(extension.downloads, 'kept.bin'))).toBe(true);
    expect(await readdir(join(folder.path, 'downloads'))).not.toContain('kept.bin');
    await remote.getByRole('button', { name: 'Forget' }).click();
    await remote.getByRole('button', { name: 'Pair' }).waitFor();
  } finally {
    await extension.stop();
    await origin.stop();
    await near.stop();
  }
});

const withElectron = testsWhere(available && electronOrComplain('the window of the app')).test;

withElectron(
  'the window of the app is paired by a code, and starts no daemon of its own',
  async () => {
    const pair = nas.spawn('env', [
      `MILLRACE_STATE=${join(folder.path, 'nas')}`,
      ...[process.execPath, CLI, 'pair'],
    ]);
    const printed = await textOf(pair.stdout as Readable);
    const code = /[A-Z0-9]{4}-[A-Z0-9]{4}/.exec(printed)?.[0] ?? printed;
    await Shell.build();
    const screen = await Screen.start();
    // Electron knows the system's authorities only, and the test's is not among them.
    const args = ['--ignore-certificate-errors'];
    const state = join(folder.path, 'app', 'state');
    await mkdir(state, { recursive: true });
    await writeFile(join(state, 'shell.json'), JSON.stringify({ remote: url }));
    const shell = await Shell.start(join(folder.path, 'app'), screen.display, args);
    try {
      await shell.windowIs(
        `window?.webContents.getURL()?.startsWith(${JSON.stringify(url)}) === true && !window.webContents.isLoading()`,
      );
      const inside = await shell.anyPage();
      const button = (words: string) =>
        `[...document.querySelectorAll('button')].find((one) => one.textContent === ${JSON.stringify(words)})`;
      await inside.evaluate(waiting(`${button('Use a pairing code instead')} !== undefined`));
      await inside.evaluate(`${button('Use a pairing code instead')}.click()`);
      const field = "document.querySelector('input[autocomplete=one-time-code]')";
      await inside.evaluate(waiting(`${field} !== null`));
      await inside.evaluate(`${field}.focus()`);
      await inside.evaluate(`document.execCommand('insertText', false, ${JSON.stringify(code)})`);
      await inside.evaluate(waiting(`!${button('Log in')}.disabled`));
      await inside.evaluate(`${button('Log in')}.click()`);
      await until(() => isLoggedIn(inside));
      // The page of another machine reaches nothing of this one.
      expect(await inside.evaluate('typeof millraceShell')).toBe('undefined');
      expect(
        await inside.evaluate(
          `fetch(${JSON.stringify(files.add('/other.bin', { body }))}).catch(() => 'no')`,
        ),
      ).toBe('no');
      expect(await readdir(shell.state)).toEqual(['shell.json', 'windows']);
      inside.close();
      // The menu leads back to the daemon of this machine; the test starts no second app.
      await shell.main.evaluate(`void (millraceTest.electron.app.relaunch = () => {},
        setImmediate(() => millraceTest.electron.Menu.getApplicationMenu().items
          .find(({ label }) => label === 'File').submenu.items[0].click()))`);
      await shell.ended();
      const kept = JSON.parse(await readFile(join(state, 'shell.json'), 'utf8'));
      expect(kept).not.toHaveProperty('remote');
    } finally {
      await shell.kill();
      await screen.stop();
    }
  },
);

withElectron(
  'the window moves to the daemon that its user chooses: the app ends, and starts again there',
  async () => {
    await Shell.build();
    const screen = await Screen.start();
    const home = join(folder.path, 'moves');
    const shell = await Shell.start(home, screen.display, ['--ignore-certificate-errors']);
    try {
      const inside = await shell.page();
      await until(() => isLoggedIn(inside));
      await shell.willAnswer(0);
      await inside.evaluate(`void millraceShell.showRemote(${JSON.stringify(url)})`);
      inside.close();
      await shell.ended();
      // The app that comes again is no child of the test; its browser notes where it can be looked into.
      const noted = join(shell.state, 'windows', nas.insideAddress, 'DevToolsActivePort');
      const ask = async (what: string) => {
        const [port] = (await readFile(noted, 'utf8').catch(() => '')).split('\n');
        return fetch(`http://127.0.0.1:${port}/json${what}`).catch(() => undefined);
      };
      const targets = async () => (await (await ask(''))?.json()) as Target[] | undefined;
      const shown = async () => (await targets())?.find((one) => one.url.startsWith(`${url}/`));
      await until(async () => (await shown()) !== undefined);
      const target = (await shown()) as Target;
      const again = await DevTools.connect(target.webSocketDebuggerUrl);
      const asks = "document.querySelector('input[type=password]') !== null";
      // Nothing can be evaluated before the page has begun.
      await until(() => again.evaluate<boolean>(asks).catch(() => false));
      again.close();
      await ask(`/close/${target.id}`);
      await until(async () => (await targets()) === undefined);
    } finally {
      await shell.kill();
      await screen.stop();
    }
  },
);

test('who logs out needs the password again, and nothing went wrong in the page', async () => {
  const self = page.getByRole('listitem').filter({ hasText: 'this browser' });
  await self.getByRole('button', { name: /^Log out/ }).click();
  await page.getByRole('textbox', { name: 'Password' }).waitFor();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.reload();
  await page.getByRole('textbox', { name: 'Password' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, 'log-in-dark.png') });
  expect(problems).toEqual([]);
});
