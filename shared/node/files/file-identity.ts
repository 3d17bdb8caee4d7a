/** Notices that files were replaced or written to, on any file system, and through links. */

import { statSync } from 'node:fs';

/** Returns a text that changes when a file, or the target of a link, is replaced or written to. */
export function fileIdentity(path: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs].join();
  } catch (error) {
    // Missing or not accessible, maybe only for a moment.
    return String((error as NodeJS.ErrnoException).code);
  }
}
