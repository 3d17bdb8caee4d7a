/** A command's connection to the daemon. */

import { DaemonLink } from '../../client/daemon-link.ts';
import { startDetached } from './daemon-process.ts';

export { DaemonLink } from '../../client/daemon-link.ts';

/** Starts a daemon where none runs. @param onStart is told of its process */
export function openOrStart(state: string, onStart: (pid: number) => void): Promise<DaemonLink> {
  return DaemonLink.openOrStart(state, async () => onStart((await startDetached(state, [])).pid));
}

/** Runs something with a connection that is closed afterwards. */
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
