import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ERRORS } from '@millrace/shared/base/errors';
import { daemonToken, writeAddress } from './daemon-address.ts';
import { launchDaemon } from './daemon-launch.ts';

let state: string;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'millrace-'));
});

afterEach(() => rm(state, { recursive: true }));

/** Starts a program in place of the daemon. */
const launch = (script: string) =>
  launchDaemon({ command: process.execPath, args: ['-e', script] }, state);

/** Waits for a file that the program writes. */
async function written(name: string): Promise<void> {
  while ((await access(join(state, name)).catch(() => 'missing')) !== undefined) await pause(5);
}

describe('launchDaemon', () => {
  test('of two daemons that start at once, the first one is found, although it tells its address late', async () => {
    const { exit } = ERRORS['daemon-running'];
    const launched = launch(
      `process.on('exit', () => require('fs').writeFileSync('ended', '')); process.exit(${exit})`,
    );
    await written('ended');
    await daemonToken(state);
    const url = 'http://127.0.0.1:1/jsonrpc';
    const ws = 'ws://127.0.0.1:1/jsonrpc';
    await writeAddress(state, { url, ws, pid: process.pid, version: '1' });
    expect((await launched).daemon).toMatchObject({ url, pid: process.pid });
  });

  test('a daemon that ends for another reason fails with what it said', async () => {
    await expect(launch(`console.error('the disk is full'); process.exit(5)`)).rejects.toThrow(
      /the disk is full/,
    );
  });

  test('a daemon that lives but cannot be reached in time is called silent, which is no fault inside', async () => {
    const script = 'setInterval(() => {}, 1000)';
    const program = { command: process.execPath, args: ['-e', script] };
    const launched = launchDaemon(program, state, 1);
    await expect(launched).rejects.toMatchObject({ code: 'daemon-silent' });
  });
});
