/** The app in a real Electron, from its start to its end: it survives its window and its daemon. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { sha256 } from '../../fixtures/origins/content.ts';
import { isAlive } from '../../fixtures/programs/daemon-cli.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { Shell, waiting } from '../../fixtures/programs/shell.ts';
import {
  isLoggedIn,
  reaches,
  ShellStage,
  SLOW,
  statusOf,
} from '../../fixtures/stages/shell-stage.ts';
import { electronProgram } from '../../fixtures/tools/electron-path.mjs';
import { until } from '../../fixtures/until.ts';

const START = fileURLToPath(new URL('../../../desktop/cli/launch/start.ts', import.meta.url));

const stage = new ShellStage();

stage.withElectron(
  'a file downloads with the window closed; tray, taskbar and notification tell',
  async (shell) => {
    await shell.window('window.close()');
    await shell.windowIs('!window.isVisible()');
    // A kind of file that opens without a question.
    const { gid, url } = await stage.add(shell, { limit: SLOW, file: 'film.mkv' });
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
    const { path } = await statusOf(shell, gid);
    expect(sha256(await readFile(path))).toBe(stage.origin.digest(url));
    const recorded = await shell.recorded();
    // The app told the user once that it keeps running after the window is closed.
    expect(recorded.notifications.map(({ title }) => title)).toEqual([
      'Millrace keeps running in the background',
      'Download complete',
    ]);

    // A click shows the download; from there its file can be opened.
    await stage.listen();
    await shell.main.evaluate('void millraceTest.live[1].emit("click")');
    await shell.windowIs('window.isVisible()');
    await stage.page.evaluate(waiting('heard.length > 0'));
    expect(await stage.heard()).toEqual([{ kind: 'reveal', gid }]);
    expect(await stage.page.evaluate(`millraceShell.openFile("${gid}")`)).toEqual({});
    expect(await stage.page.evaluate(`millraceShell.showInFolder("${gid}")`)).toEqual({});
    expect(await shell.recorded()).toMatchObject({ opened: [path], shown: [path] });
  },
);

stage.withElectron('a second start hands over its links and files, and ends', async (shell) => {
  await shell.window('window.close()');
  await stage.listen();
  const before = await shell.call('list');
  const metalink = '<metalink xmlns="urn:ietf:params:xml:ns:metalink"/>';
  await writeFile(join(stage.folder, 'several files.meta4'), metalink);
  const url = 'https://example.com/a file.iso?x=1&y=2';
  await shell.startAgain(`millrace:?url=${encodeURIComponent(url)}`);
  await shell.startAgain(join(stage.folder, 'several files.meta4'));
  await stage.page.evaluate(waiting('heard.length === 2'));
  expect(await stage.heard()).toEqual([
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

stage.withElectron('an error that nobody handles is told, and the app goes on', async (shell) => {
  await shell.main.evaluate("void setImmediate(() => { throw new Error('for this test') })");
  await shell.records(({ dialogs }) => dialogs.some(({ message }) => message === 'Millrace'));
  expect(await shell.call('list')).toBeDefined();
});

stage.withElectron(
  'a daemon that is killed is started again, and the user is told',
  async (shell) => {
    const { gid, url } = await stage.add(shell, { limit: SLOW });
    await reaches(shell, gid, 'active');
    const before = await shell.daemon();
    process.kill(before.pid, 'SIGKILL');
    await shell.records(({ notifications }) =>
      notifications.some(({ title }) => title === 'The engine stopped and was started again'),
    );
    const after = await shell.daemon();
    expect(after.pid).not.toBe(before.pid);
    await shell.call('change', { gid, limit: null });
    await reaches(shell, gid, 'complete');
    expect(sha256(await readFile((await statusOf(shell, gid)).path))).toBe(
      stage.origin.digest(url),
    );
    await shell.windowIs(`window.webContents.getURL().startsWith('${new URL(after.url).origin}')`);
  },
);

stage.withElectron(
  'a daemon started again at the same address has its page loaded anew',
  async (shell) => {
    const { pid, url } = await shell.daemon();
    await stage.page.evaluate('void (window.isOld = true)');
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

stage.withElectron(
  'quitting asks while something runs, and then ends the daemon as well',
  async (shell) => {
    const { gid } = await stage.add(shell, { limit: SLOW });
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
    expect((await statusOf(shell, gid)).status).toBe('active');
    const { dialogs } = await shell.recorded();
    expect(dialogs[0]?.message).toBe('Quit while 1 download is running?');

    const { pid } = await shell.daemon();
    await shell.willAnswer(QUIT);
    await shell.quit();
    await shell.ended();
    await until(() => !isAlive(pid));
  },
);

// Ctrl-C sends INT; a second signal comes from `npm start` or an impatient user.
stage.test.each([[['TERM']], [['INT', 'INT']], [['INT', 'TERM']]])(
  'a shell ended by a signal while it starts its daemon leaves no daemon behind: %p',
  async (signals) => {
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
    const child = await Shell.startWithNode(own.path, stage.screen.display, node);
    child.stderr?.resume();
    await once(child, 'exit');
    const pid = Number(await readFile(pidFile, 'utf8'));
    // A daemon that needs longer than the shell waits has got a signal, and ends a little later.
    await until(() => !isAlive(pid));
    expect([child.exitCode, child.signalCode]).toEqual([0, null]);
    await own.remove();
  },
);

stage.withElectron('npm start opens the window beside an edge, and ends both', async () => {
  const own = await temporaryFolder();
  const state = join(own.path, 'state');
  const child = spawn(process.execPath, [START], {
    env: {
      ...process.env,
      DISPLAY: stage.screen?.display,
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
