/** Opens addresses in the user's browser. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Returns the system's command that opens an address; undefined without a screen to show it on. */
export function browserCommand(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): readonly string[] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  const screen = env.DISPLAY || env.WAYLAND_DISPLAY;
  return screen === undefined || screen === '' ? undefined : ['xdg-open'];
}

/** Returns true where there is a screen to show an address on. */
export function canOpen(): boolean {
  return browserCommand(process.platform, process.env) !== undefined;
}

/**
 * Opens an address in the user's browser.
 *
 * @param url URL without secrets: all users of the machine can read command lines
 * @returns false if there is no browser to ask
 */
export async function openInBrowser(url: string): Promise<boolean> {
  const words = browserCommand(process.platform, process.env);
  return words !== undefined && startProgram([...words, url]);
}

/** Starts a program that outlives this process. @returns false if it cannot be started */
export async function startProgram(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<boolean> {
  const child = spawn(program, args, { detached: true, stdio: 'ignore', env });
  try {
    await once(child, 'spawn');
  } catch {
    return false;
  }
  child.unref();
  return true;
}

/** Time in which a program that opens files says that it cannot, in milliseconds. */
const OPENING_MS = 5000;

/**
 * Starts a program that outlives this process, and that opens a file.
 *
 * @returns why it did not; undefined if it ended well, or still runs after some seconds
 */
export async function openProblem([program = '', ...args]: readonly string[]): Promise<
  string | undefined
> {
  const child = spawn(program, args, { detached: true, stdio: 'ignore' });
  child.unref();
  const ended = once(child, 'exit').then(
    ([status]) => (status === 0 ? undefined : `${program} found no program for it (${status})`),
    () => `${program} cannot be started`,
  );
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, OPENING_MS, undefined);
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}
