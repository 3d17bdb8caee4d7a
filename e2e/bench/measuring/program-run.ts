/** Runs a program to its end and measures its time and memory. Linux only: reads /proc. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;
const LOOK_EVERY_MS = 10;
/** Time after which a run counts as hanging, unless it is said to take longer. */
const DEADLINE_MS = 60_000;

export interface ProgramRun {
  readonly seconds: number;
  /** User and system time. */
  readonly cpuSeconds: number;
  /** Peak resident memory, bytes. */
  readonly peakBytes: number;
}

/**
 * Runs a program to its end.
 *
 * @param env variables besides those of this process
 * @param deadlineMs time after which it counts as hanging, and is ended
 * @throws Error with the program's output if it fails, or hangs
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  deadlineMs = DEADLINE_MS,
): Promise<ProgramRun> {
  const before = childrenSeconds();
  const startedAt = performance.now();
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: deadlineMs,
    env: { ...process.env, ...env },
  });
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  let peakBytes = 0;
  const look = setInterval(() => {
    peakBytes = Math.max(peakBytes, peakOf(child.pid as number));
  }, LOOK_EVERY_MS);
  try {
    const [code, signal] = await once(child, 'close');
    const seconds = (performance.now() - startedAt) / 1000;
    const isLate = seconds * 1000 >= deadlineMs;
    const how = isLate ? `ended after ${deadlineMs / 1000} s, as it hangs` : (signal ?? code);
    if (code !== 0) throw new Error(`${command}: ${how}\n${stderr}`);
    return { seconds, cpuSeconds: childrenSeconds() - before, peakBytes };
  } finally {
    clearInterval(look);
  }
}

/** Processor seconds of all ended children of this process. */
function childrenSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

function peakOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
