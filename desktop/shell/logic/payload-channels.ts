/** Channels between page and shell. Kept small: the preload includes this module. */

import type { ShellPreferences } from '@millrace/shared/bridge/page/shell-api';

/** Payloads of the calls, after they have been checked. */
export interface ShellCalls {
  readonly openFile: string;
  readonly showInFolder: string;
  readonly openPage: string;
  readonly chooseFolder: string | undefined;
  readonly offerFile: string;
  readonly offerFolder: undefined;
  readonly copyText: string;
  readonly getPreferences: undefined;
  readonly setPreferences: Partial<ShellPreferences>;
  readonly showRemote: string;
  /** The page listens to messages from now on. */
  readonly listen: undefined;
}

export type ShellCall = keyof ShellCalls;

/** Returns the name of a call's channel. */
export function channel(call: ShellCall): string {
  return `millrace:${call}`;
}

/** Channel on which the shell sends messages to the page. */
export const MESSAGE_CHANNEL = 'millrace:message';
