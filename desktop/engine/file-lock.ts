/** One writer per partial file: a lock file with the writer's process number. */

import { open, readFile, rm } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';

const ATTEMPTS = 3;

/**
 * Takes the lock; one left by a process that has died is taken over.
 *
 * @returns gives the lock back
 * @throws MillraceError `file-in-use`; errors of the file system
 */
export async function lockFile(path: string): Promise<() => Promise<void>> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      const file = await open(path, 'wx');
      await file.writeFile(`${process.pid}\n`);
      await file.close();
      let held = true;
      return async () => {
        // A second call must not take away the lock that another process has by then.
        if (held) await rm(path, { force: true });
        held = false;
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const owner = Number((await readFile(path, 'utf8').catch(() => '')).trim());
    if (isAlive(owner)) throw new MillraceError('file-in-use', `process ${owner} has ${path}`);
    await rm(path, { force: true });
  }
  throw new MillraceError('file-in-use', path);
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
