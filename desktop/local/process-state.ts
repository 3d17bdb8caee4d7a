/** Whether a process is still there, told by its number. */

import { readFileSync } from 'node:fs';

/** Processes that have ended, and whose parent has not taken note of it (proc(5)). */
const ENDED = /^[ZX]/;

/**
 * What a process is to us. One that has ended is gone, also where its parent does not ask for its
 * end: as in containers, whose first process often asks for nobody's.
 *
 * @param pid 1 or more
 * @returns `others`: it is of another user
 */
export function processState(pid: number): 'ours' | 'others' | 'gone' {
  if (!Number.isInteger(pid) || pid <= 0) return 'gone';
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'others' : 'gone';
  }
  return hasEnded(pid) ? 'gone' : 'ours';
}

/** Linux only; elsewhere nobody says. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before it may contain anything, spaces and brackets too.
    return ENDED.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
