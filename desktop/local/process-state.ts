/** Whether a process is still there, told by its number. */

import { readFileSync } from 'node:fs';

/** Processes that have ended, and whose parent has not taken note of it (proc(5)). */
const ENDED = /^[ZX]/;

/**
 * Tells whether a process is ours. A process that has ended is gone, even if its parent has not
 * asked for its end: in containers the first process often never does.
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

/** Linux only; other systems do not report it. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before it may contain anything, spaces and brackets too.
    return ENDED.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
