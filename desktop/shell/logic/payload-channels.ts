/** Channels between page and shell. Kept small: the preload has it. */

import type { ShellPreferences } from '@millrace/shared/bridge/page/shell-api';

/** Payloads as they are once they have been checked. */
export interface ShellCalls {
  readonly openFile: string;
  readonly showInFolder: string;
  readonly chooseFolder: string | undefined;
  readonly copyText: string;
  readonly getPreferences: undefined;
  readonly setPreferences: Partial<ShellPreferences>;
  /** The page listens to messages from now on. */
  readonly listen: undefined;
}

export type ShellCall = keyof ShellCalls;

/** Name of the channel, where page and shell meet. */
export function channel(call: ShellCall): string {
  return `millrace:${call}`;
}

/** Channel on which the shell tells the page. */
export const MESSAGE_CHANNEL = 'millrace:message';
