/** Opens downloaded files, and pages that their links were on. The page of the app names the download, never a path or an address. */

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ShellAnswer } from '@millrace/shared/bridge/page/shell-api';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { mayRun } from '@millrace/shared/download/request/file-kind';
import { dialog, shell } from 'electron';
import type { DaemonLink } from './daemon/daemon-link.ts';
import { isWebPage } from './logic/page-policy.ts';
import type { Words } from './text/words.ts';

/** Opens a file with the program that the system has for it; asks first if the file may run. */
export async function openFile(
  link: DaemonLink | undefined,
  gid: string,
  words: Words,
): Promise<ShellAnswer> {
  const download = await find(link, gid);
  if (download === undefined) return { problem: words.t('noSuchDownload') };
  const { path, name, status } = download;
  if (status !== 'complete' || path === undefined) return { problem: words.t('notComplete') };
  if (!existsSync(path)) return { problem: words.t('noFile') };
  if (mayRun(path) && !(await isWanted(name, words))) return {};
  const reason = await shell.openPath(path);
  return reason === '' ? {} : { problem: words.t('cannotOpen', { reason }) };
}

/** Shows a file in its folder; while the file is not there, shows only the folder. */
export async function showInFolder(
  link: DaemonLink | undefined,
  gid: string,
  words: Words,
): Promise<ShellAnswer> {
  const download = await find(link, gid);
  if (download === undefined) return { problem: words.t('noSuchDownload') };
  const { path, dir } = download;
  if (path !== undefined && existsSync(path)) {
    shell.showItemInFolder(path);
    return {};
  }
  const folder = path === undefined ? dir : dirname(path);
  if (!existsSync(folder)) return { problem: words.t('noFile') };
  const reason = await shell.openPath(folder);
  return reason === '' ? {} : { problem: words.t('cannotOpen', { reason }) };
}

/** Opens the page that a download's link was on, with the system's browser. */
export async function openPage(
  link: DaemonLink | undefined,
  gid: string,
  words: Words,
): Promise<ShellAnswer> {
  const download = await find(link, gid);
  if (download === undefined) return { problem: words.t('noSuchDownload') };
  const { page } = download;
  if (page === undefined || !isWebPage(page)) return { problem: words.t('noPage') };
  return shell.openExternal(page).then(
    () => ({}),
    (error: Error) => ({ problem: words.t('cannotOpenPage', { reason: error.message }) }),
  );
}

async function isWanted(name: string, words: Words): Promise<boolean> {
  const { response } = await dialog.showMessageBox({
    type: 'warning',
    message: words.t('opensProgram', { name }),
    detail: words.t('opensProgram.text'),
    buttons: [words.t('opensProgram.open'), words.t('cancel')],
    defaultId: 1,
    cancelId: 1,
  });
  return response === 0;
}

async function find(link: DaemonLink | undefined, gid: string): Promise<DownloadView | undefined> {
  return link?.call('millrace.status', { gid }).catch(() => undefined);
}
