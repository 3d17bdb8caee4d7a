/** Jest transform: TypeScript with its types blanked out, the way Node itself runs it. */

import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
  getCacheKey: (source, path) =>
    createHash('sha256').update(`${process.version}\0${path}\0${source}`).digest('hex'),
};
