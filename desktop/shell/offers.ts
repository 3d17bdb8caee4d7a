/** Passes downloads from outside on to the page: URLs, and the contents of Metalink files. */

import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { LaunchRequest } from '@millrace/shared/bridge/page/outside-links';
import type { OfferedMetalink, ShellMessage } from '@millrace/shared/bridge/page/shell-api';
import type { Words } from './text/words.ts';

/** Most bytes of a Metalink file: in base64 the daemon still accepts a message of this size. */
const MAX_METALINK_BYTES = 8 * 1024 * 1024;
const MAX_METALINKS = 20;

/**
 * Reads the request of a start of the app.
 *
 * @param folder folder that relative paths are in
 * @param onProblem called for files that cannot be read
 * @returns undefined if there is nothing to offer
 */
export async function offerOf(
  { urls, files }: LaunchRequest,
  folder: string,
  words: Words,
  onProblem: (title: string, body: string) => void,
): Promise<ShellMessage | undefined> {
  const metalinks: OfferedMetalink[] = [];
  for (const file of files.slice(0, MAX_METALINKS)) {
    const path = resolve(folder, file);
    const name = basename(path);
    try {
      if ((await stat(path)).size > MAX_METALINK_BYTES) throw new Error(words.t('tooLarge'));
      metalinks.push({ name, metalink: (await readFile(path)).toString('base64') });
    } catch (error) {
      onProblem(
        words.t('cannotRead', { name }),
        error instanceof Error ? error.message : String(error),
      );
    }
  }
  if (urls.length === 0 && metalinks.length === 0) return undefined;
  return { kind: 'offer', from: metalinks.length > 0 ? 'file' : 'link', urls, metalinks };
}
