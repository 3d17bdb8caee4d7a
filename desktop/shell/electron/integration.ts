/** Registers the app with the system: start at login, and programs for links and files. */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCHEME } from '@millrace/shared/bridge/page/outside-links';
import { app } from 'electron';
import { hostStates, installHost, uninstallHost } from '../../native-host/install.ts';
import { BROWSERS, type HostProgram } from '../../native-host/registration.ts';
import { daemonProgram } from '../logic/daemon-program.ts';
import { autostartEntry } from '../logic/desktop-entry.ts';

/** Name of the `.desktop` file that the packages install. */
const DESKTOP_FILE = 'millrace-app.desktop';
/** Name of the file in the user's autostart folder. */
const AUTOSTART_FILE = 'millrace.desktop';
const FILE_TYPES = [
  'application/metalink4+xml',
  'application/metalink+xml',
  'application/vnd.millrace.exnode+json',
];

/**
 * Returns program and arguments that start the app; in development Electron needs the app's path.
 */
function startCommand(): [program: string, ...args: string[]] {
  const program = process.env.APPIMAGE ?? process.execPath;
  return app.isPackaged ? [program] : [program, app.getAppPath()];
}

export function setStartAtLogin(on: boolean): void {
  const [program, ...args] = startCommand();
  if (process.platform !== 'linux') {
    app.setLoginItemSettings({ openAtLogin: on, path: program, args: [...args, '--hidden'] });
    return;
  }
  const folder = join(app.getPath('appData'), 'autostart');
  const file = join(folder, AUTOSTART_FILE);
  if (!on) {
    if (existsSync(file)) unlinkSync(file);
    return;
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, autostartEntry([program, ...args, '--hidden']));
}

/**
 * Registers the native host with the browsers that are used here, or unregisters it from all.
 *
 * @param state state folder
 * @param main the host's main file
 */
export async function setBrowserHost(on: boolean, state: string, main: string): Promise<void> {
  const program = hostProgram(main);
  if (program === undefined) return;
  const around = { platform: process.platform, home: app.getPath('home'), env: process.env, state };
  if (!on) return void (await uninstallHost(BROWSERS, program, around));
  const states = await hostStates(BROWSERS, program, around);
  const used = states.filter(({ present }) => present).map(({ browser }) => browser);
  if (used.length > 0) await installHost(used, program, around);
}

/**
 * Returns the program that runs the host.
 *
 * @returns undefined if there is no Node, or only one that exists while the app runs
 */
function hostProgram(main: string): HostProgram | undefined {
  // An AppImage is a folder only while it runs.
  if (process.env.APPIMAGE !== undefined) return undefined;
  const program = daemonProgram({
    node: process.env.MILLRACE_NODE,
    electron: process.execPath,
    electronNode: process.versions.node,
    main,
  });
  if (program === undefined) return undefined;
  const { command, args, env } = program;
  return {
    words: [command, ...args],
    env: { ...env, MILLRACE_APP: JSON.stringify(startCommand()) },
  };
}

/**
 * Makes the app the default for links and Metalink files, or takes that back for links. The
 * packages associate the files.
 */
export function setDefaultHandler(on: boolean): void {
  const [program, ...args] = startCommand();
  if (on) app.setAsDefaultProtocolClient(SCHEME, program, args);
  else app.removeAsDefaultProtocolClient(SCHEME, program, args);
  if (process.platform !== 'linux' || !on) return;
  // Without xdg-utils the user chooses in the desktop's own settings.
  execFile('xdg-mime', ['default', DESKTOP_FILE, ...FILE_TYPES], () => {});
}
