/** Starts a soak as a process, in namespaces of its own: its processes and mounts end with it. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../soak/main.ts', import.meta.url));
const NAMESPACES = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** Script that runs a command in the new namespaces. */
const INSIDE = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

/**
 * Starts a soak. It ends early when its standard input is closed, however this process ends.
 *
 * @param output where its page and its notes go
 */
export function startSoak(args: readonly string[], output: 'inherit' | 'pipe'): ChildProcess {
  const probe = spawnSync('unshare', [...NAMESPACES, ...INSIDE, 'true'], { stdio: 'ignore' });
  const enter = probe.status === 0 ? ['unshare', ...NAMESPACES, ...INSIDE] : [];
  if (enter.length === 0) {
    process.stderr.write('No namespaces can be made here: the soak runs beside other programs.\n');
  }
  const [command = '', ...words] = [...enter, process.execPath, MAIN, ...args];
  const child = spawn(command, words, { stdio: ['pipe', output, output] });
  // The soak may have ended before the pipe is closed.
  child.stdin?.on('error', () => {});
  return child;
}

/** Runs a soak. @returns the exit status: 1 at wrong bytes, hangs, losses or deaths */
export async function soak(args: readonly string[]): Promise<number> {
  const child = startSoak(args, 'inherit');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void child.stdin?.end());
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
