/** Opens downloaded files. The extension names the download, never a path. */

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { mayRun } from '@millrace/shared/download/request/file-kind';
import { browserCommand, startProgram } from '../local/browser.ts';

/**
 * Opens a complete download with the program that the system has for it.
 *
 * @throws MillraceError `wrong-state` where the download is not complete, its file is not there, or
 * the file may be a program: there is no user to ask whether it may run
 */
export async function openFile(download: DownloadView): Promise<void> {
  const path = finishedPath(download);
  if (mayRun(path)) {
    throw new MillraceError('wrong-state', 'it may be a program: open it from its folder');
  }
  await start(openCommand(path));
}

/** Shows the file among its neighbours, or else its folder. @throws as `openFile` */
export async function showFile(download: DownloadView): Promise<void> {
  const { path, dir } = download;
  if (path !== undefined && existsSync(path)) return start(showCommand(process.platform, path));
  const folder = path === undefined ? dir : dirname(path);
  if (!existsSync(folder)) throw new MillraceError('wrong-state', 'its folder is not there');
  await start(openCommand(folder));
}

function finishedPath({ status, path }: DownloadView): string {
  if (status !== 'complete' || path === undefined) {
    throw new MillraceError('wrong-state', 'it is not complete');
  }
  if (!existsSync(path)) throw new MillraceError('wrong-state', 'its file is not there any more');
  return path;
}

/** Returns the command that opens a path. @param path absolute, so never taken for an option */
function openCommand(path: string): readonly string[] {
  const words = browserCommand(process.platform, process.env);
  return words === undefined ? [] : [...words, path];
}

function showCommand(platform: NodeJS.Platform, path: string): readonly string[] {
  if (platform === 'darwin') return ['open', '-R', path];
  if (platform === 'win32') return ['explorer.exe', `/select,${path}`];
  return openCommand(dirname(path));
}

async function start(words: readonly string[]): Promise<void> {
  if (words.length > 0 && (await startProgram(words))) return;
  throw new MillraceError('wrong-state', 'there is nothing here to open files with');
}
