/** Starts the daemon for the host where none runs. */

import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchDaemon } from '../local/daemon-launch.ts';

const DAEMON = fileURLToPath(new URL('../engine/daemon/main.ts', import.meta.url));

/** Starts the daemon, and returns when it can be reached. @throws as `launchDaemon` */
export async function startDaemon(state: string): Promise<void> {
  const dir = join(homedir(), 'Downloads');
  // If the folder cannot be made, the downloads report it.
  await mkdir(dir, { recursive: true }).catch(() => {});
  const args = [...process.execArgv, DAEMON, '--state', state, '--dir', dir];
  await launchDaemon({ command: process.execPath, args }, state);
}
