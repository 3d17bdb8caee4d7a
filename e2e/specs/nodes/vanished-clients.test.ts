/** Clients that vanish silently, and a client that only stops reading (ANYCAST 3.1.2, 3.1.3). */

import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import type { CrowdResult } from '../../fixtures/clients/crowd-client.ts';
import { openResponse } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { WideOrigin } from '../../fixtures/origins/wide-origin.ts';
import { Namespace, namespacesOrComplain } from '../../fixtures/programs/namespace.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const CLIENT = fileURLToPath(new URL('../../fixtures/clients/crowd-client.ts', import.meta.url));
/**
 * Size of the file: more bytes than the sockets on both sides hold, so that the edge must wait for
 * the client.
 */
const FILE_BYTES = 32 * 1024 * 1024;
/**
 * Size of the file that vanishing clients fetch: at the rate limit it takes minutes, so that the
 * line is cut in the middle of it also on a busy machine.
 */
const LONG_BYTES = 1024 * 1024 * 1024;
const RATE = '4MiB/s';

const { afterAll, afterEach, beforeAll, beforeEach, describe, test } = testsWhere(
  namespacesOrComplain('clients that vanish from the network'),
);
let origin: FaultOrigin;
let wide: WideOrigin;
let url: string;
let edge: EdgeProcess;
let far: Namespace;

beforeAll(async () => {
  [origin, wide] = await Promise.all([FaultOrigin.start(), WideOrigin.start()]);
  url = origin.url('none', { size: FILE_BYTES });
});

beforeEach(async () => {
  far = new Namespace();
  const options = ['--host', '0.0.0.0', '--allow-origin', '127.0.0.1', '--client-rate', RATE];
  edge = await EdgeProcess.start(options);
});

afterEach(async () => {
  far?.remove();
  await edge?.stop('SIGKILL');
});

afterAll(() => Promise.all([origin.stop(), wide.stop()]));

/** Starts a distant client, and waits until at least `active` transfers are running. */
async function startFarClient(active: number): Promise<ChildProcess> {
  const { port } = new URL(edge.url);
  const client = far.spawn(process.execPath, [
    CLIENT,
    '1',
    `http://${far.hostAddress}:${port}/${wide.url('long', LONG_BYTES)}`,
  ]);
  await until(async () => (await edge.status()).transfers.active >= active);
  return client;
}

/** Waits until `reaped` clients have been reaped and `active` transfers are left. */
async function untilReaped(reaped: number, active: number): Promise<void> {
  await until(async () => (await edge.status()).clients.purged >= reaped);
  await until(async () => (await edge.status()).transfers.active <= active);
  expect(await edge.status()).toMatchObject({ clients: { purged: reaped }, transfers: { active } });
}

describe('a client that vanishes in the middle of a file', () => {
  test('is reaped when its line is cut, minutes before the kernel would give it up', async () => {
    await startFarClient(1);
    far.cut();
    await untilReaped(1, 0);
    await edge.logged(/the client has vanished/);
  });

  test('gets a RST if only its own packets are lost, as after a change of routes', async () => {
    const client = await startFarClient(1);
    const output = text(client.stdout as NodeJS.ReadableStream);
    far.mute();
    await untilReaped(1, 0);
    const { outcomes } = JSON.parse(await output) as CrowdResult;
    expect(outcomes).toEqual({ 'read ECONNRESET': 1 });
  });
});

describe('a client that has vanished when the edge finishes its answer', () => {
  test('is reaped all the same: the kernel still holds the answer', async () => {
    // A range of the second chunk, which the origin holds back.
    const gated = origin.url('gate', { size: 600_000 });
    const { port } = new URL(edge.url);
    const target = `http://${far.hostAddress}:${port}/${gated}`;
    far.spawn('curl', ['-s', '-o', '/dev/null', '-r', '550000-', target]);
    await until(() => origin.waiting > 0);
    far.cut();
    origin.openGate();
    await untilReaped(1, 0);
    expect(edge.log.join()).not.toMatch(/vanished/);
  });
});

describe('a client that stops reading', () => {
  test('is kept while others vanish one after the other, and gets every byte in the end', async () => {
    const response = await openResponse(edge.prefixed(url));
    // Reaping one takes two timeouts of the kernel, at least 600 ms. In that time more probes of the
    // closed window go out than a vanished client may leave unanswered.
    for (let reaped = 1; reaped <= 5; reaped++) {
      await startFarClient(2);
      far.cut();
      await untilReaped(reaped, 1);
      await far.killAll();
      far.mend();
    }
    const hash = createHash('sha256');
    for await (const piece of response) hash.update(piece as Buffer);
    expect(hash.digest('hex')).toBe(origin.digest(url));
    expect(await edge.status()).toMatchObject({ clients: { purged: 5 } });
  });
});
