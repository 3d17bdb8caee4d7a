/**
 * Finds the place where a browser would have put a handed-over download, if it may be saved there.
 */

import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { handOffFolder } from '@millrace/shared/download/request/hand-off-folder';
import type { NewDownload } from '../downloads/download-schema.ts';
import type { Manager } from '../downloads/manager.ts';

export interface BrowserPlaceOptions {
  readonly manager: Manager;
  /** Download folder if the settings have none. */
  readonly dir: string;
  /** True if the user chose `dir` when the daemon was started. */
  readonly chosen: boolean;
  /** State folder. */
  readonly state: string;
  /** Default: the user's home folder. */
  readonly home?: string;
}

export interface Place {
  /** Absolute, without links. */
  readonly dir: string;
  readonly file: string;
}

export class BrowserPlaces {
  readonly #options: BrowserPlaceOptions;

  constructor(options: BrowserPlaceOptions) {
    this.#options = options;
  }

  /**
   * Returns the browser's place for a download.
   *
   * @param path the browser's path, according to the extension
   * @returns undefined: the app's folder and name must be used. An unusable path does not reject
   */
  async of(download: NewDownload, path: string | undefined): Promise<Place | undefined> {
    if (path === undefined || !isAbsolute(path)) return undefined;
    const file = basename(path);
    // Under another name than the browser's, the file could meet downloads that other programs have
    // begun there.
    if (file !== download.file || safeFileName(file) !== file) return undefined;
    const { manager, home = homedir(), state } = this.#options;
    const { request, category } = manager.draft(download);
    const [browser, app, realHome, realState] = await Promise.all([
      folderAt(dirname(path)),
      real(request.dir),
      real(home),
      real(state),
    ]);
    const whose = handOffFolder({
      wanted: manager.settings.app.browserFolder,
      app,
      chosen: this.#isChosen(category),
      browser,
      home: realHome,
      state: [realState],
      windows: process.platform === 'win32',
    });
    return whose === 'app' || browser === undefined ? undefined : { dir: browser.path, file };
  }

  #isChosen(name: string | undefined): boolean {
    const { manager, dir, chosen } = this.#options;
    const { categories, dir: set } = manager.settings;
    const category = categories.find((one) => one.name === name);
    if (category !== undefined && category.folder !== '') return true;
    return set === undefined ? chosen : set !== dir;
  }
}

/** Returns the path that `HeldNames.while` and the download have to agree on. */
export function pathOf({ dir, file }: Place): string {
  return join(dir, file);
}

async function folderAt(path: string) {
  try {
    const found = await realpath(path);
    const info = await stat(found);
    const me = process.getuid?.();
    if (!info.isDirectory()) return undefined;
    return { path: found, own: me === undefined || info.uid === me };
  } catch {
    return undefined;
  }
}

/** Returns the path without links, or unchanged if it does not exist. */
function real(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
