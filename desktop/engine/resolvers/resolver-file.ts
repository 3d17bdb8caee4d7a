/** Place of the list of resolvers: known without what reads it, which most downloads do not need. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the path of the list. @param state state folder */
export function resolverFile(state: string): string {
  return join(state, 'resolvers.json');
}

/** Returns true if the user has set up any resolver. */
export function hasResolvers(state: string): boolean {
  return existsSync(resolverFile(state));
}
