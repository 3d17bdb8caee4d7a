/** Jest transform that blanks out TypeScript's types, as Node itself does. */

import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
  getCacheKey: (source, path) =>
    createHash('sha256').update(`${process.version}\0${path}\0${source}`).digest('hex'),
};
