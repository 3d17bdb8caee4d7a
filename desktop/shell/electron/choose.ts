/** Dialogs in which the user chooses folders and files of this machine. */

import { dialog } from 'electron';
import type { Words } from '../text/words.ts';

const METALINK_TYPES = ['meta4', 'metalink', 'torrent', 'exnode'];

/** Has the user choose a folder. @returns its path, null if they cancel */
export async function chooseFolder(start: string | undefined): Promise<string | null> {
  const { canceled, filePaths } = await dialog.showOpenDialog({
    properties: ['openDirectory', 'createDirectory'],
    ...(start === undefined ? {} : { defaultPath: start }),
  });
  return canceled ? null : (filePaths[0] ?? null);
}

/** Has the user choose Metalink files, torrents and exNodes. @returns their paths, none if they cancel */
export async function chooseMetalinks(words: Words): Promise<readonly string[]> {
  const { canceled, filePaths } = await dialog.showOpenDialog({
    properties: ['openFile', 'multiSelections'],
    filters: [{ name: words.t('metalinkFiles'), extensions: METALINK_TYPES }],
  });
  return canceled ? [] : filePaths;
}
