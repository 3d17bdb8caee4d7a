import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('end-left.mjs', import.meta.url));
const onLinux = process.platform === 'linux' ? describe : describe.skip;

/** Starts a process that outlives its parent and one without an environment; prints their ids. */
const PARENT = `
const { spawn } = require('node:child_process');
const wait = ['-e', 'setInterval(() => {}, 1000)'];
const apart = spawn(process.execPath, wait, { detached: true, stdio: 'ignore' });
const bare = spawn(process.execPath, wait, { env: {}, stdio: 'ignore' });
console.log(apart.pid, bare.pid);
setInterval(() => {}, 1000);
`;

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** Starts a parent with two children. @returns their ids, the parent's first */
async function family(mark: string): Promise<number[]> {
  const [name, value] = mark.split('=') as [string, string];
  const parent = spawn(process.execPath, ['-e', PARENT], {
    env: { ...process.env, [name]: value },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(parent);
  const [line] = await once(createInterface({ input: parent.stdout }), 'line');
  return [parent.pid as number, ...String(line).split(' ').map(Number)];
}

function isThere(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

onLinux('a test run that is killed', () => {
  test('leaves no process behind, not even a detached one or one with no environment', async () => {
    const mark = `MILLRACE_TEST_RUN=end-left-${process.pid}`;
    const [own, others] = await Promise.all([family(mark), family(`${mark}-of-another`)]);
    const guard = spawn(process.execPath, [PROGRAM, mark], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    started.push(guard);
    expect(own.map(isThere)).toEqual([true, true, true]);
    guard.stdin.end();
    await once(guard, 'exit');
    expect(own.map(isThere)).toEqual([false, false, false]);
    expect(others.map(isThere)).toEqual([true, true, true]);
    for (const pid of others) process.kill(pid, 'SIGKILL');
  });
});
