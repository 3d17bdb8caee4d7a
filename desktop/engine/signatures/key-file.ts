/** Place of the user's list of keys: known without what reads it, which most downloads do not need. */

import { join } from 'node:path';

/** Returns the path of the list. @param state state folder */
export function keyFile(state: string): string {
  return join(state, 'keys.json');
}
