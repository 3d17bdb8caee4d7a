/** The daemon as a process in the background: starting it, and where its log is. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type DaemonAddress, findDaemon, makeStateFolder } from '../local/daemon-address.ts';

const START_TIMEOUT_MS = 20_000;
const POLL_MS = 25;
/** Where it is longer, the log is begun anew; the one before is kept. */
const MAX_LOG_BYTES = 1024 * 1024;

/** What a daemon in the background writes. */
export function logFile(state: string): string {
  return join(state, 'daemon.log');
}

/** The daemon's address, or undefined if none runs. */
export async function runningDaemon(
  state: string,
): Promise<(DaemonAddress & { token: string }) | undefined> {
  try {
    return await findDaemon(state);
  } catch (error) {
    if (isMillraceError(error, 'daemon-not-running')) return undefined;
    throw error;
  }
}

/**
 * Starts a daemon that outlives this process, and waits until it can be reached.
 *
 * @param words what Node is to run: the program's file and its arguments, paths absolute
 * @returns the daemon's address: where two are started at once, that of the one which runs
 * @throws MillraceError `state-unusable`, or `internal` with the end of the log
 */
export async function startBackground(
  state: string,
  words: readonly string[],
): Promise<DaemonAddress> {
  await makeStateFolder(state);
  const log = await openLog(state);
  const from = (await log.stat()).size;
  const child = spawn(process.execPath, [...process.execArgv, ...words], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    // Not where the user is: that folder may be on something to be unmounted.
    cwd: state,
    env: { ...process.env, MILLRACE_STATE: state },
    windowsHide: true,
  });
  const ended = once(child, 'exit');
  ended.catch(() => {});
  try {
    const giveUpAt = performance.now() + START_TIMEOUT_MS;
    while (performance.now() < giveUpAt) {
      const found = await runningDaemon(state);
      if (found !== undefined && found.pid === child.pid) return found;
      if (child.exitCode !== null || child.signalCode !== null) {
        // Somebody else may have been quicker.
        if (found !== undefined) return found;
        throw await startFailure(state, from);
      }
      await Promise.race([sleep(POLL_MS), ended]);
    }
    throw new MillraceError('internal', `the daemon does not start; see ${logFile(state)}`);
  } finally {
    child.unref();
    await log.close();
  }
}

async function openLog(state: string) {
  const path = logFile(state);
  const bytes = await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
  if (bytes > MAX_LOG_BYTES) await rename(path, `${path}.1`);
  try {
    return await open(path, 'a', 0o600);
  } catch (cause) {
    throw new MillraceError('state-unusable', path, { cause });
  }
}

/** The daemon has said why, in its log. */
async function startFailure(state: string, from: number): Promise<MillraceError> {
  const log = await readFile(logFile(state)).catch(() => Buffer.alloc(0));
  const said = log.subarray(from).toString().trim().split('\n')[0] ?? '';
  return new MillraceError('state-unusable', said === '' ? logFile(state) : said);
}
