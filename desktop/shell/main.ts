/** The app's main process. Only one runs: another start hands over its arguments, and ends. */

import { dirname, join } from 'node:path';
import {
  isMetalinkFile,
  type LaunchRequest,
  readArguments,
  urlsOfLink,
} from '@millrace/shared/bridge/page/outside-links';
import { app, dialog } from 'electron';
import { stateFolder } from '../local/local-edge.ts';
import { MemoryFile } from './daemon/memory-file.ts';
import { findOrStart } from './daemon/supervisor.ts';
import { daemonMain } from './files.ts';
import { daemonProgram } from './logic/daemon-program.ts';
import { folderOf, remoteChoice, withoutRemote } from './logic/remote-choice.ts';
import { RemoteShell, refuseAddress } from './remote-shell.ts';
import { ShellApp } from './shell-app.ts';

const state = stateFolder();
const { remote } = new MemoryFile(state).value;
const choice = remoteChoice(process.argv.slice(1), process.env.MILLRACE_REMOTE, remote);
// Chromium's own files are kept beside ours: one state folder, one app, and one for each daemon elsewhere.
const folder = choice.kind === 'elsewhere' ? join('windows', folderOf(choice.origin)) : 'window';
app.setPath('userData', join(state, folder));
app.setName('Millrace');
if (process.platform === 'win32') app.setAppUserModelId('dev.millrace.app');

// Electron itself would say so in a window for which everything waits, and print nothing.
let isTelling = false;
process.on('uncaughtException', (error) => {
  console.error(error);
  if (!app.isReady()) {
    dialog.showErrorBox('Millrace', String(error));
    return app.exit(1);
  }
  if (isTelling) return;
  isTelling = true;
  dialog
    .showMessageBox({ type: 'error', message: 'Millrace', detail: String(error) })
    .catch((failure: unknown) => console.error(failure))
    .finally(() => {
      isTelling = false;
    });
});

if (choice.kind === 'wrong') void refuseAddress(choice.given);
else if (!app.requestSingleInstanceLock()) app.quit();
else if (choice.kind === 'elsewhere') startElsewhere(choice.origin, choice.isSetting);
else start();

/** Reads the links of a start that names a daemon elsewhere. */
function requestOf(args: readonly string[]): LaunchRequest {
  return readArguments(withoutRemote(args.slice(1)));
}

/** Shows the page of a daemon on another machine. */
function startElsewhere(origin: string, isSetting: boolean): void {
  const first = requestOf(process.argv);
  // Without a window, as the system starts it when the user logs in, nothing would be done here.
  if (isSetting && first.hidden) return app.quit();
  app
    .whenReady()
    .then(() => {
      const leave = isSetting
        ? () => new MemoryFile(state).change({ remote: undefined })
        : undefined;
      const shell = new RemoteShell(origin, join(state, folder), leave);
      app.on('second-instance', (_event, args) => shell.take(requestOf(args)));
      app.on('open-url', (_event, url) =>
        shell.take({ urls: urlsOfLink(url), files: [], hidden: false }),
      );
      app.on('activate', () => shell.show());
      shell.take(first);
    })
    .catch(failToStart);
}

function failToStart(error: unknown): void {
  dialog.showErrorBox('Millrace', error instanceof Error ? String(error.stack) : String(error));
  app.exit(1);
}

function start(): void {
  let shell: ShellApp | undefined;
  /** Requests from the system that came before the app could take them. */
  const early: LaunchRequest[] = [];
  const take = (request: LaunchRequest, folder: string) => {
    if (shell === undefined) early.push(request);
    else void shell.take(request, folder);
  };

  app.on('second-instance', (_event, args, folder) => {
    const request = readArguments(args.slice(1));
    if (!request.hidden) shell?.show();
    take(request, folder);
  });
  app.on('open-url', (event, url) => {
    event.preventDefault();
    take({ urls: urlsOfLink(url), files: [], hidden: false }, '/');
  });
  app.on('open-file', (event, path) => {
    event.preventDefault();
    if (isMetalinkFile(path)) take({ urls: [], files: [path], hidden: false }, dirname(path));
  });
  app.on('activate', () => shell?.show());
  // Closing the window does not end the app.
  app.on('window-all-closed', () => {});

  const place = {
    state,
    dir: app.getPath('downloads'),
    program: daemonProgram({
      node: process.env.MILLRACE_NODE,
      electron: process.execPath,
      electronNode: process.versions.node,
      main: daemonMain(),
    }),
  };
  // Set when the app is asked to quit while the daemon is still being started.
  let quitEarly = false;
  app.on('before-quit', (event) => {
    if (shell !== undefined) return;
    event.preventDefault();
    quitEarly = true;
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      quitEarly = true;
    });
  }
  const run = async () => {
    // Runs beside Electron's own start: both take their time.
    const first = findOrStart(place);
    first.catch(() => {}); // the supervisor reports the failure
    await app.whenReady();
    shell = new ShellApp(place, first);
    if (quitEarly) return app.quit();
    for (const request of early) take(request, '/');
    await shell.run(readArguments(process.argv.slice(1)), process.cwd());
  };
  run().catch(failToStart);
}
