/** Where the parts of the app are: beside each other in development, in the package otherwise. */

import { join } from 'node:path';
import { app } from 'electron';

/** The folder with the bundles, pages and icons. */
export const SHELL_FILES = import.meta.dirname;

export const ICON = join(SHELL_FILES, 'icons', '256.png');
export const TRAY_ICON = join(
  SHELL_FILES,
  'icons',
  process.platform === 'win32' ? '16.png' : '24.png',
);

/** The daemon's main file. */
export function daemonMain(): string {
  return app.isPackaged
    ? join(process.resourcesPath, 'millrace', 'engine', 'daemon', 'main.mjs')
    : join(SHELL_FILES, '..', '..', 'engine', 'daemon', 'main.ts');
}
