/** The daemon as a process of the app: started in the background, its log beside its state. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { type DaemonAddress, findDaemon, makeStateFolder } from '../../local/daemon-address.ts';
import { processState } from '../../local/process-state.ts';
import type { Program } from '../logic/daemon-program.ts';

const START_TIMEOUT_MS = 30_000;
const POLL_MS = 25;
/** Where it is longer, the log is begun anew; the one before is kept. */
const MAX_LOG_BYTES = 1024 * 1024;

export type FoundDaemon = DaemonAddress & { readonly token: string };

export function logFile(state: string): string {
  return join(state, 'daemon.log');
}

/** The daemon that runs for a state folder, if one does. */
export async function runningDaemon(state: string): Promise<FoundDaemon | undefined> {
  return findDaemon(state).catch(() => undefined);
}

/**
 * Starts a daemon and waits until it can be reached. It goes on should the app be killed.
 *
 * @param dir download folder where the user has not chosen one
 * @throws MillraceError `internal` with what it said last
 */
export async function startDaemonProcess(
  { command, args, env }: Program,
  state: string,
  dir: string,
): Promise<{ daemon: FoundDaemon; child: ChildProcess }> {
  await makeStateFolder(state);
  const log = await openLog(state);
  const from = (await log.stat()).size;
  const child = spawn(command, [...args, '--state', state, '--dir', dir], {
    // Ctrl-C in a terminal is the app's, which ends the daemon in its own time.
    detached: process.platform !== 'win32',
    stdio: ['ignore', log.fd, log.fd],
    // Not where the user is: that folder may be on something to be unmounted.
    cwd: state,
    env: { ...process.env, ...env, MILLRACE_STATE: state },
    windowsHide: true,
  });
  let failure: Error | undefined;
  child.on('error', (error) => {
    failure = error;
  });
  const ended = once(child, 'exit').catch(() => {});
  try {
    const giveUpAt = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < giveUpAt) {
      const daemon = await runningDaemon(state);
      if (daemon !== undefined && daemon.pid === child.pid) return { daemon, child };
      if (failure !== undefined || child.exitCode !== null || child.signalCode !== null) break;
      await Promise.race([new Promise((resolve) => setTimeout(resolve, POLL_MS)), ended]);
    }
    child.kill();
    const said = failure?.message ?? (await lastWords(state, from));
    throw new MillraceError('internal', said === '' ? logFile(state) : said);
  } finally {
    child.unref();
    await log.close();
  }
}

/** Waits until a process has gone. @returns false if it has not after that time */
export async function hasGone(pid: number, withinMs: number): Promise<boolean> {
  const giveUpAt = Date.now() + withinMs;
  while (processState(pid) === 'ours') {
    if (Date.now() > giveUpAt) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}

async function openLog(state: string) {
  const path = logFile(state);
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > MAX_LOG_BYTES) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
}

/** The daemon has said why, in its log. */
async function lastWords(state: string, from: number): Promise<string> {
  const log = await readFile(logFile(state)).catch(() => Buffer.alloc(0));
  return log.subarray(from).toString().trim().split('\n').slice(-3).join('\n');
}
