/**
 * Opens the app of `npm start`: a window where Electron can run, otherwise a page for a browser.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { browserCommand } from '../../local/browser.ts';
import { runningDaemon } from '../../local/daemon-address.ts';
import { launchInTerminal } from '../../local/daemon-launch.ts';
import { stateFolder } from '../../local/local-edge.ts';
import { DaemonLink } from '../console/daemon-link.ts';

const DAEMON = fileURLToPath(new URL('../../engine/daemon/main.ts', import.meta.url));
const SHELL = fileURLToPath(new URL('../../shell/dist', import.meta.url));
const ELECTRON = fileURLToPath(new URL('../../node_modules/electron', import.meta.url));

export type App =
  | { readonly kind: 'window'; readonly child: ChildProcess }
  | {
      readonly kind: 'page';
      /** Address that logs in, once and within a minute. */
      readonly url: string;
      /** Why there is no window. */
      readonly reason: string;
      /** The daemon's process, if it was started for this page. */
      readonly child: ChildProcess | undefined;
    };

/** Opens the app. @throws MillraceError if neither a window nor a daemon can be started */
export async function openApp(): Promise<App> {
  const electron = electronProgram();
  if ('reason' in electron) return openPage(electron.reason);
  const child = spawn(electron.program, [...electronFlags(), SHELL], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, MILLRACE_NODE: process.env.MILLRACE_NODE ?? process.execPath },
  });
  try {
    await once(child, 'spawn');
    return { kind: 'window', child };
  } catch (error) {
    return openPage(String(error));
  }
}

/** Returns Electron's program, or the reason why it cannot run. */
function electronProgram(): { program: string } | { reason: string } {
  if (browserCommand(process.platform, process.env) === undefined) {
    return { reason: 'there is no screen' };
  }
  if (!existsSync(join(SHELL, 'main.cjs'))) return { reason: 'the window has not been built' };
  const given = process.env.ELECTRON_OVERRIDE_DIST_PATH;
  const name = programName();
  const program = given ? join(given, name) : join(ELECTRON, 'dist', name);
  return existsSync(program) ? { program } : { reason: 'Electron is not installed' };
}

/** Returns the name of Electron's program, which Electron's package records for this system. */
function programName(): string {
  try {
    return readFileSync(join(ELECTRON, 'path.txt'), 'utf8');
  } catch {
    return process.platform === 'win32' ? 'electron.exe' : 'electron';
  }
}

/** Returns flags for Electron. Root cannot use Chromium's sandbox, and would get no window. */
function electronFlags(): string[] {
  return process.getuid?.() === 0 ? ['--no-sandbox'] : [];
}

/** Opens the app as a page. @param reason why there is no window, for the user */
export async function openPage(reason: string): Promise<App> {
  const state = stateFolder();
  const child = (await runningDaemon(state)) === undefined ? await startDaemon(state) : undefined;
  const daemon = await DaemonLink.open(state);
  try {
    const { url } = await daemon.call('millrace.loginLink');
    return { kind: 'page', url, reason, child };
  } finally {
    daemon.close();
  }
}

/**
 * Starts the page's daemon again: first at the same port, so that open pages find it; after a
 * failure, at any port.
 *
 * @param attempt from 1
 * @returns undefined if it does not start
 */
export async function startDaemonAgain(
  { url }: Extract<App, { kind: 'page' }>,
  attempt: number,
): Promise<ChildProcess | undefined> {
  const state = stateFolder();
  const options = attempt === 1 ? ['--port', new URL(url).port] : [];
  // The daemon has printed the reason in the terminal.
  return startDaemon(state, options).catch(() => undefined);
}

/** Starts a daemon. @returns its process; undefined if another daemon was quicker */
async function startDaemon(
  state: string,
  options: readonly string[] = [],
): Promise<ChildProcess | undefined> {
  const dir = join(homedir(), 'Downloads');
  await mkdir(dir, { recursive: true }).catch(() => {});
  const args = [DAEMON, '--state', state, '--dir', dir, ...options];
  const { daemon, child } = await launchInTerminal({ command: process.execPath, args }, state);
  return daemon.pid === child.pid ? child : undefined;
}
