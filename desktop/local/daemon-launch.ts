/**
 * Starts the daemon as a separate process and waits until it can be reached: for commands, the
 * native host, the app's window and `npm start`. Has to run on any Node that Electron contains.
 */

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { ERRORS, MillraceError } from '@millrace/shared/base/errors';
import { type FoundDaemon, makeStateFolder, runningDaemon } from './daemon-address.ts';

/**
 * Longest time that a daemon which lives may take until it can be reached, ms. With long lists, a slow
 * disk and a machine that has just started, half a minute was not enough.
 */
const START_TIMEOUT_MS = 120_000;
const POLL_MS = 25;
/** Longest wait for the daemon of somebody else who has started one in the same moment, ms. */
const OTHER_DAEMON_MS = 30_000;
/** Size of the log, bytes, above which a new log is begun; the previous one is kept. */
const MAX_LOG_BYTES = 1024 * 1024;

/** How the daemon is run. */
export interface DaemonProgram {
  readonly command: string;
  /** Arguments, with absolute paths: the daemon runs in its state folder. */
  readonly args: readonly string[];
  /** Environment variables besides those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface LaunchedDaemon {
  /** The running daemon, which may be another process's if two were started at once. */
  readonly daemon: FoundDaemon;
  readonly child: ChildProcess;
}

/** Returns the path of the log of a daemon in the background. */
export function logFile(state: string): string {
  return join(state, 'daemon.log');
}

/**
 * Starts the daemon in the background: it outlives this process, and Ctrl-C does not reach it.
 *
 * @param withinMs longest time until the daemon can be reached; one that takes longer is ended
 * @throws MillraceError `state-unusable` with the daemon's first line of output, `daemon-silent` for
 * one that takes too long, `internal` where the daemon cannot be run at all
 */
export async function launchDaemon(
  program: DaemonProgram,
  state: string,
  withinMs: Millis = START_TIMEOUT_MS,
): Promise<LaunchedDaemon> {
  await makeStateFolder(state);
  const log = await openLog(state);
  const from = (await log.stat()).size;
  try {
    const options: SpawnOptions = { detached: true, stdio: ['ignore', log.fd, log.fd] };
    return await untilReached(program, state, () => firstWords(state, from), options, withinMs);
  } finally {
    await log.close();
  }
}

/**
 * Starts the daemon in the terminal of this process, where its output appears.
 *
 * @throws MillraceError `state-unusable`, `daemon-silent`, `internal`
 */
export async function launchInTerminal(
  program: DaemonProgram,
  state: string,
): Promise<LaunchedDaemon> {
  await makeStateFolder(state);
  const words = async () => 'it has printed the reason';
  const options: SpawnOptions = { stdio: ['ignore', 'ignore', 'inherit'] };
  return untilReached(program, state, words, options, START_TIMEOUT_MS);
}

/**
 * Starts the daemon and waits until it can be reached.
 *
 * @param words returns the daemon's output, once the daemon has ended or takes too long
 */
async function untilReached(
  { command, args, env }: DaemonProgram,
  state: string,
  words: () => Promise<string>,
  options: SpawnOptions,
  withinMs: Millis,
): Promise<LaunchedDaemon> {
  const child = spawn(command, [...args], {
    ...options,
    // The user's current folder is not used: it may be on a disk that is to be unmounted.
    cwd: state,
    env: { ...process.env, ...env, MILLRACE_STATE: state },
    windowsHide: true,
  });
  let failure: Error | undefined;
  child.on('error', (error) => {
    failure = error;
  });
  if (options.detached) child.unref();
  const ended = once(child, 'exit').catch(() => {});
  const reached = async (): Promise<FoundDaemon | undefined> => {
    const daemon = await runningDaemon(state);
    if (daemon !== undefined && daemon.pid === child.pid) return daemon;
    if (failure !== undefined) throw new MillraceError('internal', failure.message);
    if (child.exitCode === null && child.signalCode === null) return undefined;
    // Another process may have started a daemon meanwhile.
    const other = daemon ?? (await otherDaemon(child, state));
    if (other === undefined) throw new MillraceError('state-unusable', await words());
    return other;
  };
  const daemon = await polled(withinMs, reached, ended);
  if (daemon !== undefined) return { daemon, child };
  child.kill();
  throw new MillraceError('daemon-silent', await words());
}

/**
 * Waits for the daemon because of which another one has ended: it locks the state first, and tells
 * its address last.
 *
 * @param ended the daemon that has ended
 */
async function otherDaemon(ended: ChildProcess, state: string): Promise<FoundDaemon | undefined> {
  if (ended.exitCode !== ERRORS['daemon-running'].exit) return undefined;
  return polled(OTHER_DAEMON_MS, () => runningDaemon(state));
}

/**
 * Asks again and again, at least once, until there is an answer.
 *
 * @param withinMs longest time
 * @param sooner when it resolves, the next question is asked at once
 */
async function polled<T>(
  withinMs: number,
  ask: () => Promise<T | undefined>,
  sooner?: Promise<unknown>,
): Promise<T | undefined> {
  const giveUpAt = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined || Date.now() > giveUpAt) return answer;
    const pause = new Promise((resolve) => setTimeout(resolve, POLL_MS));
    await (sooner === undefined ? pause : Promise.race([pause, sooner]));
  }
}

async function openLog(state: string): Promise<FileHandle> {
  const path = logFile(state);
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > MAX_LOG_BYTES) await rename(path, `${path}.1`);
  try {
    return await open(path, 'a', 0o600);
  } catch (cause) {
    throw new MillraceError('state-unusable', path, { cause });
  }
}

/**
 * Returns the first line that the daemon has logged, or the path of the log if there is none.
 *
 * @param from length of the log, bytes, before the daemon was started
 */
async function firstWords(state: string, from: number): Promise<string> {
  const log = await readFile(logFile(state)).catch(() => Buffer.alloc(0));
  const [first = ''] = log.subarray(from).toString().trim().split('\n');
  return first === '' ? logFile(state) : first;
}
