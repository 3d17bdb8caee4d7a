/** Place of the user's list of keys: known without what reads it, which most downloads do not need. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keysFor, type OwnKey } from '@millrace/shared/download/signatures/own-key';

/** Returns the keys that may vouch for the file of a URL. @throws MillraceError `state-unusable` */
export type OwnKeys = (url: string) => Promise<readonly OwnKey[]>;

/** Returns the path of the list. @param state state folder */
export function keyFile(state: string): string {
  return join(state, 'keys.json');
}

/** Returns the user's keys, read anew for each download. @param state state folder */
export function ownKeysIn(state: string): OwnKeys {
  return async (url) => {
    if (!existsSync(keyFile(state))) return [];
    const { readKeyList } = await import('./key-list.ts');
    return keysFor(url, await readKeyList(state));
  };
}
