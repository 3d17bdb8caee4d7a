/** What the system is told: starting at login, and which program opens links and files. */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { app } from 'electron';
import { autostartEntry } from '../logic/desktop-entry.ts';
import { SCHEME } from '../logic/links.ts';

/** Name of the `.desktop` file that the packages install. */
const DESKTOP_FILE = 'millrace.desktop';
const METALINK_TYPES = ['application/metalink4+xml', 'application/metalink+xml'];

/** Program and arguments that start the app; in development Electron has to be told which app. */
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
  const file = join(folder, DESKTOP_FILE);
  if (!on) {
    if (existsSync(file)) unlinkSync(file);
    return;
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, autostartEntry([program, ...args, '--hidden']));
}

/** Files are associated by the packages; here the user's choice among programs is set. */
export function setDefaultHandler(on: boolean): void {
  const [program, ...args] = startCommand();
  if (on) app.setAsDefaultProtocolClient(SCHEME, program, args);
  else app.removeAsDefaultProtocolClient(SCHEME, program, args);
  if (process.platform !== 'linux' || !on) return;
  // Without xdg-utils the user chooses in the desktop's own settings.
  execFile('xdg-mime', ['default', DESKTOP_FILE, ...METALINK_TYPES], () => {});
}
