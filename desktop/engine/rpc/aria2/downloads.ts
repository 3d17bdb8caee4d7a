/** Shared parts of aria2's methods: finding downloads by gid, and aria2's words for errors. */

import { isMillraceError } from '@millrace/shared/base/errors';
import type { NewDownload } from '../../downloads/download-schema.ts';
import type { Manager } from '../../downloads/manager.ts';
import { withOptions } from '../../downloads/metalinks.ts';
import { downloadUrl } from '../../settings/checks.ts';
import type { DownloadRecord } from '../../store/record.ts';
import { aria2Error } from '../calls/rpc-error.ts';
import { type Aria2Options, defaultOptions } from './option-table.ts';
import { toNewDownload, translate } from './options.ts';
import { text } from './params.ts';

/** Returns the options of new downloads that do not set them. */
export function inheritable(manager: Manager): Record<string, string> {
  return { ...defaultOptions(), ...manager.settings.aria2 };
}

/** Makes the downloads of a document's files, with options in aria2's words. */
export function describedBy(
  files: readonly NewDownload[],
  options: Aria2Options,
  given: Aria2Options,
): NewDownload[] {
  // The document itself states the names and digests of its files.
  const { file: _file, digests: _digests, gid: _gid, ...rest } = toNewDownload(options, given);
  return files.map((one) => withOptions(one, rest));
}

/** Finds the download that the first parameter names. @throws RpcError in aria2's words */
export function find(manager: Manager, params: readonly unknown[]): DownloadRecord {
  const gid = text(params, 0);
  if (!/^[0-9a-f]{1,16}$/i.test(gid)) throw aria2Error(`Invalid GID ${gid.slice(0, 40)}`);
  try {
    return manager.get(gid.toLowerCase());
  } catch (error) {
    if (!isMillraceError(error, 'no-such-download')) throw error;
    throw aria2Error(`GID ${gid} is not found`);
  }
}

/** Returns true for a URI that can be downloaded; aria2 ignores all others. */
export function isDownloadable(uri: string): boolean {
  try {
    downloadUrl(uri);
    return true;
  } catch {
    return false;
  }
}

export function inAria2sWords<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translate(error);
  }
}
