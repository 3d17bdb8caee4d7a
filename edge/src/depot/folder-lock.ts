/**
 * Keeps a second edge out of the folder of a depot: two would delete and complete each other's
 * files. flock(2) does it, called through koffi if that is installed. The kernel gives the lock
 * back when the process ends, however it ends, and sees processes in other containers as well.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';

type Koffi = Pick<typeof import('koffi').default, 'load' | 'errno' | 'os'>;

/** A folder that no other process may use. */
export interface FolderLock {
  /** Why others could use the folder nevertheless; undefined: they cannot. */
  readonly gap: string | undefined;
  /** Lets others use the folder. */
  release(): Promise<void>;
}

// sys/file.h, the same on Linux, BSD and macOS.
const LOCK_EX = 2;
const LOCK_NB = 4;

/**
 * Takes a folder for this process.
 *
 * @param dir that exists
 * @param load gives the library; for tests
 * @throws Error if another process has the folder, or it cannot be written to
 */
export async function lockFolder(
  dir: string,
  load: () => Promise<Koffi> = async () => (await import('koffi')).default,
): Promise<FolderLock> {
  // The lock belongs to the open file, so the file stays open as long as the lock is held.
  const file = await open(join(dir, 'lock'), 'a', 0o600);
  try {
    const gap = await lock(file, dir, load);
    return { gap, release: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** @returns why the file cannot be locked, if it cannot */
async function lock(
  { fd }: FileHandle,
  dir: string,
  load: () => Promise<Koffi>,
): Promise<string | undefined> {
  let koffi: Koffi;
  let flock: (fd: number, operation: number) => number;
  try {
    koffi = await load();
    // Node itself is linked with the C library, whichever that is.
    flock = koffi.load(null).func('int flock(int fd, int operation)');
  } catch (error) {
    return `koffi cannot be used: ${(error as Error).message}`;
  }
  if (flock(fd, LOCK_EX | LOCK_NB) === 0) return undefined;
  const { EWOULDBLOCK, EAGAIN } = koffi.os.errno;
  const code = koffi.errno();
  if (code === EWOULDBLOCK || code === EAGAIN) {
    throw new Error(
      `another edge uses the depot in ${dir}: give each edge a --depot-dir of its own`,
    );
  }
  // Some network file systems have no locks.
  return `the file system has no locks (errno ${code})`;
}
