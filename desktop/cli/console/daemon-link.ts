/** A command's connection to the daemon. */

import { DaemonLink } from '../../client/daemon-link.ts';
import { startDetached } from './daemon-process.ts';

export { DaemonLink } from '../../client/daemon-link.ts';

/** Connects to the daemon, and starts one if none runs. @param onStart gets its process id */
export function openOrStart(state: string, onStart: (pid: number) => void): Promise<DaemonLink> {
  return DaemonLink.openOrStart(state, async () => onStart((await startDetached(state, [])).pid));
}

/** Calls `use` with a connection, and closes the connection afterwards. */
export async function withDaemon<T>(
  state: string,
  use: (daemon: DaemonLink) => Promise<T>,
): Promise<T> {
  const daemon = await DaemonLink.open(state);
  try {
    return await use(daemon);
  } finally {
    daemon.close();
  }
}
