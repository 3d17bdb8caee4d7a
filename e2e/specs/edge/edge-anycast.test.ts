/** The files by which an edge tells routing daemons whether it takes clients. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const TOKEN = 'token of the administrator';
const ROUTE = /route 192\.0\.2\.1\/32 unreachable;/;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let file: string;
let edge: EdgeProcess | undefined;

beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'anycast.conf');
  await writeFile(join(folder.path, 'token'), TOKEN);
});

afterEach(async () => {
  await edge?.stop('SIGKILL');
  edge = undefined;
  await folder.remove();
});

const start = async (...options: string[]) => {
  edge = await EdgeProcess.start([
    ...['--anycast-file', file, '--anycast-route', '192.0.2.1', '--anycast-rise', '0s'],
    ...['--admin-token-file', join(folder.path, 'token'), ...options],
  ]);
  return edge;
};
const content = () => readFile(file, 'utf8');
const announced = () => until(async () => ROUTE.test(await content()));
const withdrawn = () => until(async () => !ROUTE.test(await content()));
const drain = (method: string) =>
  fetch(`${edge?.url}/-/drain`, { method, headers: { authorization: `Bearer ${TOKEN}` } });
const status = async () =>
  (await edge?.status()) as unknown as {
    draining: boolean;
    takesClients: boolean;
    anycast: { announced: boolean; reason: string };
  };

describe('an edge with anycast routes', () => {
  test('withdraws what a killed run has left, before it listens', async () => {
    await writeFile(file, 'protocol static millrace4 { ipv4; route 192.0.2.1/32 unreachable; }');
    await start('--anycast-rise', '1h');
    expect(await content()).not.toMatch(ROUTE);
    expect((await status()).anycast).toMatchObject({ announced: false, reason: 'starting' });
  });

  test.each(['1', '2'])('announces them when it is healthy: with %s processes', async (workers) => {
    const { url, child } = await start('--workers', workers, '--leave-time', '0s');
    await announced();
    await until(async () => (await status()).anycast.announced);
    const metrics = await (await fetch(`${url}/-/metrics`)).text();
    expect(metrics).toMatch(/millrace_anycast_announced 1/);
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(child.exitCode).toBe(0);
    expect(await content()).not.toMatch(ROUTE);
  });

  test.each(['1', '2'])(
    'is left by its clients before it turns anybody away: with %s processes',
    async (workers) => {
      const { url } = await start('--workers', workers, '--leave-time', '1h');
      await announced();
      await drain('POST');
      await withdrawn();
      await until(async () => (await fetch(`${url}/-/ready`)).status === 503);
      // Processes are told one after the other, and of the routes only once the file is on the disk.
      await until(async () => !(await status()).takesClients);
      await until(async () => (await status()).anycast.reason === 'leaving');
      expect((await status()).draining).toBe(false);
      await drain('DELETE');
      await announced();
      await until(async () => (await fetch(`${url}/-/ready`)).status === 200);
    },
  );

  test('runs a command after each change, and again if it fails', async () => {
    const log = join(folder.path, 'runs');
    const fails = join(folder.path, 'fails');
    await writeFile(fails, '');
    const command = `grep -c "route 192" ${file} >> ${log}; test ! -e ${fails}`;
    const { child } = await start('--anycast-command', command, '--leave-time', '0s');
    await edge?.logged(/the routing daemon cannot be told/);
    expect((await status()).anycast.announced).toBe(false);
    spawnSync('rm', [fails]);
    await until(async () => (await status()).anycast.announced);
    child.kill('SIGTERM');
    await once(child, 'exit');
    const runs = (await readFile(log, 'utf8')).trim().split('\n');
    // The first and the last one withdraw.
    expect([runs.at(0), runs.at(-1), runs.at(-2)]).toEqual(['0', '0', '1']);
  });

  test('speaks the language of ExaBGP, into a file or into a pipe', async () => {
    expect(spawnSync('mkfifo', [file]).status).toBe(0);
    const reader = spawn('tail', ['-f', file], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const lines: string[] = [];
      createInterface({ input: reader.stdout }).on('line', (line) => lines.push(line));
      const { child } = await start('--anycast-format', 'exabgp', '--leave-time', '0s');
      await until(() => lines.includes('announce route 192.0.2.1/32 next-hop self'));
      child.kill('SIGTERM');
      await until(() => lines.at(-1) === 'withdraw route 192.0.2.1/32 next-hop self');
    } finally {
      reader.kill('SIGKILL');
    }
  });
});
