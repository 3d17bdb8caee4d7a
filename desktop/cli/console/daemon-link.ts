/** A command's connection to the daemon: that of this machine, or of another one (--remote). */

import { DaemonLink } from '../../client/daemon-link.ts';
import type { CliContext } from './context.ts';
import { startDetached } from './daemon-process.ts';

export { DaemonLink } from '../../client/daemon-link.ts';

/** Where the daemon is. */
export type DaemonPlace = Pick<CliContext, 'state' | 'remote'>;

/** Connects to the daemon. @throws as `DaemonLink.open` and `DaemonLink.openRemote` */
export function openDaemon({ state, remote }: DaemonPlace): Promise<DaemonLink> {
  return remote === undefined ? DaemonLink.open(state) : DaemonLink.openRemote(state, remote);
}

/**
 * Connects to the daemon, and starts one if none runs on this machine.
 *
 * @param onStart gets its process id
 */
export function openOrStart(
  place: DaemonPlace,
  onStart: (pid: number) => void,
): Promise<DaemonLink> {
  const { state, remote } = place;
  if (remote !== undefined) return openDaemon(place);
  return DaemonLink.openOrStart(state, async () => onStart((await startDetached(state, [])).pid));
}

/** Calls `use` with a connection, and closes the connection afterwards. */
export async function withDaemon<T>(
  place: DaemonPlace,
  use: (daemon: DaemonLink) => Promise<T>,
): Promise<T> {
  const daemon = await openDaemon(place);
  try {
    return await use(daemon);
  } finally {
    daemon.close();
  }
}

/**
 * Returns the folder that relative paths of downloads start from; undefined if the daemon of another
 * machine has to decide.
 */
export function folderFor({ cwd, remote }: CliContext): string | undefined {
  return remote === undefined ? cwd : undefined;
}
