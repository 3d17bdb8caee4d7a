/** The daemon as a process in the background, started by the command line. */

import { fileURLToPath } from 'node:url';
import { startBackground } from '../../client/background.ts';
import type { DaemonAddress } from '../../local/daemon-address.ts';

export { logFile, runningDaemon } from '../../client/background.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

/**
 * Starts a daemon that outlives this process, and waits until it can be reached.
 *
 * @param flags options of `millrace daemon start`, paths absolute
 * @returns as `startBackground`
 * @throws MillraceError `state-unusable`, or `internal` with the end of the log
 */
export function startDetached(state: string, flags: readonly string[]): Promise<DaemonAddress> {
  return startBackground(state, [MAIN, 'daemon', 'start', ...flags]);
}
