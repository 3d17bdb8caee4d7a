/** Starts the daemon as a background process, for the command line. */

import { fileURLToPath } from 'node:url';
import type { DaemonAddress } from '../../local/daemon-address.ts';
import { launchDaemon } from '../../local/daemon-launch.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

/**
 * Starts a daemon that outlives this process, and waits until it can be reached.
 *
 * @param flags options of `millrace daemon start`, with absolute paths
 * @throws as `launchDaemon`
 */
export async function startDetached(
  state: string,
  flags: readonly string[],
): Promise<DaemonAddress> {
  const args = [...process.execArgv, MAIN, 'daemon', 'start', ...flags];
  return (await launchDaemon({ command: process.execPath, args }, state)).daemon;
}
