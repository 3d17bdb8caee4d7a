/** Updates: looked for in the background, installed when the app quits. Off in development. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { app } from 'electron';

const EVERY_MS = 24 * 3_600_000;

/**
 * @param onReady is told the version that has been fetched
 * @returns without doing anything where the app was not packaged with an address for updates
 */
export function watchForUpdates(onReady: (version: string) => void): void {
  if (!app.isPackaged || !existsSync(join(process.resourcesPath, 'app-update.yml'))) return;
  void start(onReady).catch((error) => process.stderr.write(`No updates: ${error}\n`));
}

async function start(onReady: (version: string) => void): Promise<void> {
  // Loaded here: no other part needs it, and it takes its time.
  const { autoUpdater } = await import('electron-updater');
  autoUpdater.autoDownload = true;
  autoUpdater.autoInstallOnAppQuit = true;
  autoUpdater.on('error', (error) => process.stderr.write(`No update: ${error.message}\n`));
  autoUpdater.on('update-downloaded', ({ version }) => onReady(version));
  const look = () => void autoUpdater.checkForUpdates().catch(() => {});
  look();
  setInterval(look, EVERY_MS);
}
