/** Locates the parts of the app: beside each other in development, in the package otherwise. */

import { join } from 'node:path';
import { app } from 'electron';

/** Folder with the bundles, pages and icons. */
export const SHELL_FILES = import.meta.dirname;

export const ICON = join(SHELL_FILES, 'icons', '256.png');
export const TRAY_ICON = join(
  SHELL_FILES,
  'icons',
  process.platform === 'win32' ? '16.png' : '24.png',
);

/** Returns the daemon's main file. */
export const daemonMain = () => mainOf('engine', 'daemon');

/** Returns the main file of the program that browsers start. */
export const nativeHostMain = () => mainOf('native-host');

function mainOf(...folders: string[]): string {
  return app.isPackaged
    ? join(process.resourcesPath, 'millrace', ...folders, 'main.mjs')
    : join(SHELL_FILES, '..', '..', ...folders, 'main.ts');
}
