/** Finds programs on PATH, and runs them with a bounded output. No shell is involved. */

import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, isAbsolute, join, win32 } from 'node:path';

/**
 * Returns the path of the first program that PATH has; undefined if it has none of them.
 *
 * @param names without the extension that Windows adds
 */
export async function findProgram(
  names: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const { PATH = '' } = env;
  // A relative folder would depend on the current one, where files of strangers may be.
  const folders = PATH.split(delimiter).filter(isAbsolute);
  for (const name of names) {
    for (const folder of folders) {
      const path = join(folder, process.platform === 'win32' ? `${name}.exe` : name);
      const usable = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (usable) return path;
    }
  }
  return undefined;
}

/** Keeps the end of a program's output. */
export class OutputEnd {
  readonly #bytes: number;
  #kept = Buffer.alloc(0);
  #cut = false;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  add(piece: Buffer): void {
    const all = Buffer.concat([this.#kept, piece]);
    this.#cut ||= all.length > this.#bytes;
    this.#kept = all.subarray(Math.max(0, all.length - this.#bytes));
  }

  /** The text, without control characters other than line ends and tabs. */
  get text(): string {
    const text = this.#kept
      .toString()
      .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '')
      .trim();
    return this.#cut ? `… ${text}` : text;
  }
}

/**
 * Starts a program in a session of its own, so that it and its children can be ended together.
 *
 * @param input `pipe` for a program that is given something to read
 */
export function startApart(
  [program = '', ...args]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  input: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  return spawn(program, args, {
    cwd,
    env,
    shell: false,
    windowsHide: true,
    detached: process.platform !== 'win32',
    stdio: [input, 'pipe', 'pipe'],
  });
}

/** Ends a program of `startApart` with its children, if it runs. */
export function endApart(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) endGroup(child);
}

/**
 * Ends a program of `startApart` with its children. Children that are left after its own end are ended
 * too, but not on Windows, where only a running program knows them.
 */
export function endGroup(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    if (process.platform !== 'win32') process.kill(-pid, 'SIGKILL');
    else if (child.exitCode === null && child.signalCode === null) {
      const [program, ...args] = treeKill(pid, process.env);
      const killer = spawn(program, args, { shell: false, windowsHide: true, stdio: 'ignore' });
      killer.on('error', () => child.kill());
      // A program that is not ended by then is one that may not be: the rest of it may.
      killer.on('exit', (status) => status !== 0 && child.kill());
    }
  } catch {
    // None of them is left.
  }
}

/** Returns the words of Windows' command that ends a process with all that it has started. */
export function treeKill(pid: number, env: NodeJS.ProcessEnv): [string, ...string[]] {
  // By its path: a program of that name in the current folder would be found first.
  const folder = win32.join(env.SystemRoot ?? 'C:\\Windows', 'System32');
  return [win32.join(folder, 'taskkill.exe'), '/PID', String(pid), '/T', '/F'];
}
