/** The daemon that the host starts where none runs. */

import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchDaemon } from '../local/daemon-launch.ts';

const DAEMON = fileURLToPath(new URL('../engine/daemon/main.ts', import.meta.url));

/** Returns when the daemon can be reached. @throws as `launchDaemon` */
export async function startDaemon(state: string): Promise<void> {
  const dir = join(homedir(), 'Downloads');
  // Where it cannot be made, the downloads say so.
  await mkdir(dir, { recursive: true }).catch(() => {});
  const args = [...process.execArgv, DAEMON, '--state', state, '--dir', dir];
  await launchDaemon({ command: process.execPath, args }, state);
}
