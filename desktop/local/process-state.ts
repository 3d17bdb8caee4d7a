/** Tells by its number whether a process is still running. */

import { readFileSync } from 'node:fs';

/** States of processes that have ended, but whose parents have not waited for them (proc(5)). */
const ENDED = /^[ZX]/;

/**
 * Tells whether a process is ours. A process that has ended is gone, even if its parent has not
 * waited for it: in containers the first process often never does.
 *
 * @param pid 1 or more
 * @returns `others` if the process belongs to another user
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

/** Returns true for a process that has ended. Linux only: other systems do not report it. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process's name in front may contain anything, even spaces and brackets.
    return ENDED.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
