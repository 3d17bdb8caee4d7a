/** The user's keys, for downloads. */

import { existsSync } from 'node:fs';
import { keysFor, type OwnKey } from '@millrace/shared/download/signatures/own-key';
import { keyFile } from './key-file.ts';

/** Returns the keys that may vouch for the file of a URL. @throws MillraceError `state-unusable` */
export type OwnKeys = (url: string) => Promise<readonly OwnKey[]>;

/** Returns the user's keys, read anew for each download. @param state state folder */
export function ownKeysIn(state: string): OwnKeys {
  return async (url) => {
    if (!existsSync(keyFile(state))) return [];
    const { readKeyList } = await import('./key-list.ts');
    return keysFor(url, await readKeyList(state));
  };
}
