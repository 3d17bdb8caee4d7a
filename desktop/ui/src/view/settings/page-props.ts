/** Properties of every page of the settings. */

import type { AppSettings, SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';

export interface PageProps {
  readonly settings: AppSettings;
  /** @returns true once it is kept */
  readonly save: (change: SettingsChange) => Promise<boolean>;
}
