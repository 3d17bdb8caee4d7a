/**
 * Ensures one writer per partial file, with a lock file that contains the writer's process number
 * and, if the system reports it, when that process started: after a reboot another process may have
 * the number.
 */

import { access, open, readFile, rm } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import { processState } from '../../local/process-state.ts';

const ATTEMPTS = 3;
/** Paths locked by this process: its own number in a lock file proves nothing. */
const held = new Set<string>();

/**
 * Takes the lock, or takes it over from a process that has died.
 *
 * @returns a function that releases the lock
 * @throws MillraceError `file-in-use`; errors of the file system
 */
export async function lockFile(path: string): Promise<() => Promise<void>> {
  if (held.has(path))
    throw new MillraceError('file-in-use', { code: 'own-lock', values: { path } });
  held.add(path);
  try {
    await take(path);
  } catch (error) {
    held.delete(path);
    throw error;
  }
  let mine = true;
  return async () => {
    // A second call must not remove the lock that another writer may have by then.
    if (!mine) return;
    mine = false;
    await rm(path, { force: true });
    held.delete(path);
  };
}

/** Deletes a lock whose process was killed; leaves a lock that is held. */
export async function removeLeftLock(path: string): Promise<void> {
  try {
    await access(path);
    const unlock = await lockFile(path);
    await unlock();
  } catch {
    // There is no lock, the lock is held, or the folder cannot be written to.
  }
}

async function take(path: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      const file = await open(path, 'wx');
      const started = await startOf(process.pid);
      await file.writeFile(`${process.pid}\n${started === undefined ? '' : `${started}\n`}`);
      return await file.close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const [pid = '', started = ''] = (await readFile(path, 'utf8').catch(() => '')).split('\n');
    const owner = Number(pid.trim());
    if (isAlive(owner) && (started === '' || started === (await startOf(owner)))) {
      throw new MillraceError('file-in-use', { code: 'other-lock', values: { pid: owner, path } });
    }
    await rm(path, { force: true });
  }
  throw new MillraceError('file-in-use', { code: 'path', values: { path } });
}

/** Returns when a process started, in a form that no other process with its number has (Linux). */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    const status = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The process name before these fields may contain anything, even spaces and brackets.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return `${boot.trim()} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

const isAlive = (pid: number) => pid !== process.pid && processState(pid) !== 'gone';
