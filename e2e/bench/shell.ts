/** Measures the app's window: time until it is usable with a long history, and its idle cost. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startUiDaemon } from '../fixtures/pages/ui.ts';
import { temporaryFolder } from '../fixtures/programs/processes.ts';
import { electronOrComplain, Screen, Shell, waiting } from '../fixtures/programs/shell.ts';
import { fillHistory } from './fill-history.ts';

const ENTRIES = 10_000;
const STARTS = 5;
const IDLE_MS = 20_000;
/** Wait before measuring the idle app, so that the rest of the start does not count. */
const SETTLE_MS = 5000;
const TICKS_PER_SECOND = 100;

/** Measures the window. @returns the result as a Markdown table */
export async function shell(): Promise<string> {
  if (!electronOrComplain('the window of the app')) return 'NOT MEASURED';
  const screen = await Screen.start();
  const folder = await temporaryFolder();
  try {
    await Shell.build();
    const daemon = await startUiDaemon(folder.path);
    await fillHistory((list) => daemon.call('millrace.import', list), ENTRIES);
    await daemon.stop();
    const starts: number[] = [];
    const idle: number[] = [];
    // The first start loads programs into memory and compiles; it does not count.
    for (let i = 0; i <= STARTS; i++) {
      const run = await measureOnce(folder.path, screen.display, i === STARTS);
      if (i > 0) starts.push(run.startedMs);
      if (run.idleShare !== undefined) idle.push(run.idleShare);
    }
    const median = [...starts].sort((a, b) => a - b)[starts.length >> 1] as number;
    const share = ((idle[0] as number) * 100).toFixed(2);
    return [
      '| entries | usable after (median) | each | idle, all processes |',
      '|---|---|---|---|',
      `| ${ENTRIES} | ${Math.round(median)} ms | ${starts.map(Math.round).join(', ')} | ${share}% of a processor |`,
    ].join('\n');
  } finally {
    await screen.stop();
    await folder.remove();
  }
}

async function measureOnce(
  folder: string,
  display: string,
  thenIdle: boolean,
): Promise<{ startedMs: number; idleShare: number | undefined }> {
  const began = performance.now();
  const app = await Shell.start(folder, display);
  try {
    const page = await app.page();
    await page.evaluate(waiting(`document.querySelector('[role="grid"] [data-gid]') !== null`));
    const startedMs = performance.now() - began;
    page.close();
    if (!thenIdle) return { startedMs, idleShare: undefined };
    await pass(SETTLE_MS);
    const pids = [app.child.pid as number, (await app.daemon()).pid];
    const before = cpuSeconds(pids);
    await pass(IDLE_MS);
    return { startedMs, idleShare: (cpuSeconds(pids) - before) / (IDLE_MS / 1000) };
  } finally {
    await app.kill();
  }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Returns the processor seconds of processes and all their descendants. */
function cpuSeconds(pids: readonly number[]): number {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(Number(name)) ?? []);
  const counted = new Set(pids);
  // Repeats until no process is new: ids may wrap around, so a child may precede its parent.
  for (let before = -1; before !== counted.size; ) {
    before = counted.size;
    for (const { pid, parent } of processes) if (counted.has(parent)) counted.add(pid);
  }
  return processes
    .filter(({ pid }) => counted.has(pid))
    .reduce((sum, { seconds }) => sum + seconds, 0);
}

function statOf(pid: number): { pid: number; parent: number; seconds: number } | undefined {
  try {
    const stat = readFileSync(join('/proc', String(pid), 'stat'), 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    return { pid, parent: Number(fields[1]), seconds };
  } catch {
    return undefined; // the process has ended
  }
}
