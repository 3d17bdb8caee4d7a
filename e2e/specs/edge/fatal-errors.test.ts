/** An unhandled error writes one line to the log and ends the process with Node's status. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { DAEMON } from '../../fixtures/programs/main-files.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const probe = fileURLToPath(new URL('../../fixtures/faults/fault-probe.mjs', import.meta.url));
const NODE_OPTIONS = `--import=${probe}`;
const folder = await temporaryFolder();
afterAll(() => folder.remove());

/** Exit status of Node after an unhandled error. */
const STATUS = 1;
const faults = [
  ['SIGUSR2', 'uncaughtException', 'TypeError', 'thrown by the test'],
  ['SIGPIPE', 'unhandledRejection', 'RangeError', 'rejected by the test'],
] as const;

/** Returns the lines of a log that have level `fatal`. */
function fatalLines(log: readonly string[]): Record<string, unknown>[] {
  return log.flatMap((line) => {
    if (!line.startsWith('{')) return [];
    const fields = JSON.parse(line) as Record<string, unknown>;
    return fields.level === 60 ? [fields] : [];
  });
}

const lineOf = (origin: string, type: string, message: string) => ({
  origin,
  error: { type, message, stack: expect.stringContaining('fault-probe.mjs') },
  msg: expect.stringMatching(/^an error that nothing handles ends the /),
});

test.each(faults)(
  'an edge that %s ends with an %s logs the error',
  async (signal, origin, type, message) => {
    const edge = await EdgeProcess.start(['--name', 'failing'], { NODE_OPTIONS });
    const closed = once(edge.child, 'close');
    edge.child.kill(signal);
    expect(await closed).toEqual([STATUS, null]);
    expect(fatalLines(edge.log)).toEqual([expect.objectContaining(lineOf(origin, type, message))]);
  },
);

test('each process of an edge with workers logs it, and a new worker starts', async () => {
  const edge = await EdgeProcess.start(['--workers', '2'], { NODE_OPTIONS });
  const children = await readFile(`/proc/${edge.pid}/task/${edge.pid}/children`, 'utf8');
  process.kill(Number(children.split(' ')[0]), 'SIGUSR2');
  const [, ...thrown] = faults[0];
  await until(() => fatalLines(edge.log).length === 1);
  expect(fatalLines(edge.log)[0]).toMatchObject(lineOf(...thrown));
  await until(() => edge.log.some((line) => line.includes('a worker has died')));
  const closed = once(edge.child, 'close');
  edge.child.kill('SIGPIPE');
  expect(await closed).toEqual([STATUS, null]);
  const [, ...rejected] = faults[1];
  expect(fatalLines(edge.log).at(-1)).toMatchObject(lineOf(...rejected));
});

test.each(faults)(
  'a daemon that %s ends with an %s logs the error',
  async (signal, origin, type, message) => {
    const state = join(folder.path, signal);
    const args = ['--port', '0', '--state', state, '--dir', folder.path];
    const child = spawn(process.execPath, [DAEMON, ...args], {
      env: { ...process.env, NODE_OPTIONS },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log: string[] = [];
    createInterface({ input: child.stderr }).on('line', (text) => log.push(text));
    await once(createInterface({ input: child.stdout }), 'line');
    const closed = once(child, 'close');
    child.kill(signal);
    expect(await closed).toEqual([STATUS, null]);
    expect(fatalLines(log)).toEqual([expect.objectContaining(lineOf(origin, type, message))]);
  },
);
