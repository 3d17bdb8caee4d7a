import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from '@jest/globals';
import { processState } from './process-state.ts';

const children: ChildProcess[] = [];

function start(script: string): ChildProcess {
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

test('a process is ours until it has ended', async () => {
  const child = start('exec sleep 1000');
  const pid = child.pid as number;
  expect(processState(pid)).toBe('ours');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(processState(pid)).toBe('gone');
});

test('a number that no process has counts as gone', () => {
  for (const pid of [0, -1, 1.5, Number.NaN, 2 ** 30]) expect(processState(pid)).toBe('gone');
});

/** Other systems do not report whether a process has ended. */
const onLinux = (name: string, body: () => Promise<void>) => {
  if (process.platform === 'linux') test(name, body);
};

onLinux('a process that has ended is gone, even if its parent has not collected it', async () => {
  // The shell becomes a program that waits for no child; only then does the child end.
  const parent = start('exec 3<&0; read line <&3 & echo $!; exec sleep 1000');
  const lines = createInterface({ input: parent.stdout as NodeJS.ReadableStream });
  const pid = Number((await once(lines, 'line'))[0]);
  while ((await readFile(`/proc/${parent.pid}/comm`, 'utf8')) !== 'sleep\n');
  parent.stdin?.write('end\n');
  while (processState(pid) !== 'gone') await new Promise((resolve) => setImmediate(resolve));
  expect(() => process.kill(pid, 0)).not.toThrow();
});
