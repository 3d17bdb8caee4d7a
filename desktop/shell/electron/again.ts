/** Moves the window between the daemon of this machine and others: the app starts again for that. */

import { remoteOrigin } from '@millrace/shared/bridge/page/remote-origin';
import type { ShellAnswer } from '@millrace/shared/bridge/page/shell-api';
import { app, dialog } from 'electron';
import { restartArguments } from '../logic/remote-choice.ts';
import type { Words } from '../text/words.ts';

/** Has the app start again when it ends, without the links of this start. */
export function startAgain(): void {
  const { APPIMAGE } = process.env;
  app.relaunch({
    args: restartArguments(process.argv.slice(1), app.isPackaged ? 0 : 1),
    // The program of an AppImage is gone with its mount.
    ...(APPIMAGE === undefined ? {} : { execPath: APPIMAGE }),
  });
}

/**
 * Asks the user whether the window shall show a daemon elsewhere: a page must not choose that.
 *
 * @param address as the user has typed it in the page
 * @returns its origin if the user agrees; why the address is refused
 */
export async function chooseRemote(
  address: string,
  words: Words,
): Promise<ShellAnswer & { readonly origin?: string }> {
  const origin = remoteOrigin(address.trim());
  if (origin === undefined) return { problem: words.t('elsewhere.wrong.text') };
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: words.t('elsewhere.ask', { host: new URL(origin).host }),
    detail: words.t('elsewhere.ask.text'),
    buttons: [words.t('elsewhere.use'), words.t('cancel')],
    defaultId: 1,
    cancelId: 1,
    noLink: true,
  });
  return response === 0 ? { origin } : {};
}
