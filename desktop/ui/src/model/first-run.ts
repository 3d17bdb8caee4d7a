/** The first steps: shown in place of the empty list until the user has seen them once. */

import type { AppSettings, SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';

/** Name of the preference by which the daemon remembers that the steps were seen. */
const SEEN = 'welcomed';

/** Change of the settings that keeps the steps from being shown again. */
export const SEEN_CHANGE: SettingsChange = { preferences: { [SEEN]: true } };

/** Returns true if the user has not seen the steps; false while the settings are unknown. */
export function isFirstRun(settings: AppSettings | undefined): boolean {
  return settings !== undefined && settings.preferences[SEEN] !== true;
}

/** An absolute path, of Unix or of Windows. */
const ABSOLUTE = /^(?:\/|[A-Za-z]:[/\\]|\\\\)/;

export function isAbsolutePath(text: string): boolean {
  return ABSOLUTE.test(text.trim());
}
