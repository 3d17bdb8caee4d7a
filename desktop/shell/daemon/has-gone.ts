/** Waits for the end of a process that is not our child. */

import { processState } from '../../local/process-state.ts';

const POLL_MS = 25;

/** Waits until a process has gone. @returns false if it is still there after `withinMs` */
export async function hasGone(pid: number, withinMs: number): Promise<boolean> {
  const giveUpAt = Date.now() + withinMs;
  while (processState(pid) === 'ours') {
    if (Date.now() > giveUpAt) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}
