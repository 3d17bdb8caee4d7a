/**
 * Looks for updates in the background; they are installed when the app quits. In development it
 * does nothing.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { app } from 'electron';

const EVERY_MS = 24 * 3_600_000;

/**
 * Looks for updates from now on. Does nothing where the app was not packaged with an address for
 * updates.
 *
 * @param onReady gets the version that has been fetched
 */
export function watchForUpdates(onReady: (version: string) => void): void {
  if (!app.isPackaged || !existsSync(join(process.resourcesPath, 'app-update.yml'))) return;
  void start(onReady).catch((error) => process.stderr.write(`No updates: ${error}\n`));
}

async function start(onReady: (version: string) => void): Promise<void> {
  // Imported here: no other part needs it, and loading it takes time.
  const { autoUpdater } = await import('electron-updater');
  autoUpdater.autoDownload = true;
  autoUpdater.autoInstallOnAppQuit = true;
  autoUpdater.on('error', (error) => process.stderr.write(`No update: ${error.message}\n`));
  autoUpdater.on('update-downloaded', ({ version }) => onReady(version));
  const look = () => void autoUpdater.checkForUpdates().catch(() => {});
  look();
  setInterval(look, EVERY_MS);
}
