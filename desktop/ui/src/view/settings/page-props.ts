/** Properties of every page of the settings. */

import type { AppSettings, SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';

export interface PageProps {
  readonly settings: AppSettings;
  /** Saves a change. @returns true once it is saved */
  readonly save: (change: SettingsChange) => Promise<boolean>;
}
