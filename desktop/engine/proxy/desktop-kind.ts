/** Tells where a system keeps its proxy settings. Pure. */

import type { Environment } from './proxy-settings.ts';
import type { SettingsSource } from './system-settings.ts';

/** Desktops whose settings are GNOME's, as in Chromium. */
const GNOME = /^(?:gnome|gnome-classic|unity|x-cinnamon|cinnamon|deepin|pantheon|ukui|budgie)$/;

/** Returns undefined where only the environment can name a proxy, as on servers. */
export function settingsSource(
  env: Environment,
  platform: NodeJS.Platform,
): Exclude<SettingsSource, 'environment'> | undefined {
  if (platform === 'win32') return 'windows';
  if (platform === 'darwin') return 'macos';
  for (const name of (env.XDG_CURRENT_DESKTOP ?? '').toLowerCase().split(':')) {
    if (name === 'kde') return 'kde';
    if (GNOME.test(name)) return 'gnome';
  }
  return undefined;
}
