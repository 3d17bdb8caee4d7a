/** The scripts of npm that run programs: which processes end, and how, when npm gets a signal. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { ROOT } from '../../fixtures/tools/repository.ts';
import { until } from '../../fixtures/until.ts';

const origin = await FaultOrigin.start();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let npm: ChildProcess;
/** Resolves with npm's exit status or signal, once every process that npm has started has ended. */
let treeEnded: Promise<unknown>;
let lines: string[];

beforeEach(async () => {
  folder = await temporaryFolder();
  origin.reset();
});

afterEach(async () => {
  // All processes of the tree are in npm's group.
  try {
    process.kill(-(npm.pid as number), 'SIGKILL');
  } catch {
    // They have ended.
  }
  await folder.remove();
});

afterAll(() => origin.stop());

/** Runs a script as a user does, in a process group of its own, as a terminal's commands are. */
function run(script: string, ...args: string[]): void {
  npm = spawn('npm', ['run', script, '--', ...args], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      HOME: folder.path,
      INIT_CWD: folder.path,
      MILLRACE_STATE: join(folder.path, 'state'),
      MILLRACE_EDGE_PORT: '0',
      MILLRACE_DAEMON_PORT: '0',
      DISPLAY: '',
      WAYLAND_DISPLAY: '',
    },
  });
  lines = [];
  for (const output of [npm.stdout, npm.stderr]) {
    createInterface({ input: output as NodeJS.ReadableStream }).on('line', (l) => lines.push(l));
  }
  // The pipes close when the last process that has them ends.
  treeEnded = once(npm, 'close').then(([code, signal]) => code ?? signal);
}

/** Waits for a line. @returns the first group of the pattern */
async function said(pattern: RegExp): Promise<string> {
  const found = () => lines.map((line) => pattern.exec(line)).find((match) => match !== null);
  await until(() => found() !== undefined);
  return found()?.[1] ?? '';
}

const toNpm = (signal: NodeJS.Signals) => () => process.kill(npm.pid as number, signal);
const toGroup = (signal: NodeJS.Signals) => () => process.kill(-(npm.pid as number), signal);
/** Ways to end a script: signals of a supervisor, and Ctrl-C, which reaches all processes. */
const ENDS = [
  ['SIGTERM to npm', toNpm('SIGTERM')],
  ['SIGINT to npm', toNpm('SIGINT')],
  ['Ctrl-C', toGroup('SIGINT')],
  ['a killed npm', toNpm('SIGKILL')],
] as const;

describe.each(ENDS)('%s', (name, end) => {
  test('ends the edge of "npm run edge" too, after its transfers', async () => {
    run('edge', '--port', '0', '--allow-origin', '127.0.0.1', '--grace', '60s');
    const edge = await said(/listening on (http:\S+)/);
    const url = origin.url('gate', { seed: name.replaceAll(' ', '-') });
    const running = fetchAll(`${edge}/${url}`);
    await until(() => origin.waiting > 0);
    end();
    await said(/(shutting down)/);
    origin.openGate();
    expect((await running).digest).toBe(origin.digest(url));
    expect(await treeEnded).toBe(name === 'a killed npm' ? 'SIGKILL' : 0);
    expect(lines.join('\n')).toMatch(/"stopped"/);
  });

  test('ends all that "npm start" has started', async () => {
    run('start');
    const edge = await said(/runs at (http:\S+)/);
    await said(/(Ctrl-C)/);
    end();
    await treeEnded;
    await expect(fetch(edge)).rejects.toThrow();
  });

  test('interrupts "npm run millrace -- get" once, which keeps what has come', async () => {
    const url = origin.url('none', { size: 8_000_000, seed: 'get' });
    // At this rate the download outlasts the test on any machine.
    run('millrace', 'get', url, '-d', folder.path, '--limit', '100K');
    const names = () => readdir(folder.path);
    await until(async () => (await names()).includes('file.bin.millrace-journal'));
    end();
    await treeEnded;
    // A second signal would end the download at once, and leave its lock behind.
    expect(lines.join('\n')).toMatch(/Interrupted/);
    expect(await names()).toEqual(expect.arrayContaining(['file.bin.millrace-part']));
    expect(await names()).not.toContain('file.bin.millrace-lock');
  });
});
