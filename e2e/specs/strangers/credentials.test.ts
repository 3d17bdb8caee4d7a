/** The user's secrets go where the user sent them, and nowhere else. */

import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';

const files = await FaultOrigin.start();
const edge = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
const seen: IncomingHttpHeaders[] = [];
/** Asks for a log-in, sets a cookie, and redirects to the files under another host's name. */
const gate = createServer((asked, answer) => {
  seen.push(asked.headers);
  const login = `Basic ${Buffer.from('tom:sesame-secret').toString('base64')}`;
  if (asked.headers.authorization !== login) return void answer.writeHead(401).end();
  const location = files.url('none').replace('127.0.0.1', 'localhost');
  answer.writeHead(302, { location, 'set-cookie': 'session=secret; Path=/' }).end();
}).listen(0, '127.0.0.1');
await once(gate, 'listening');
const gateHost = `127.0.0.1:${(gate.address() as AddressInfo).port}`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
  files.reset();
  seen.length = 0;
});
afterEach(() => folder.remove());
afterAll(async () => {
  gate.close();
  gate.closeAllConnections();
  await edge.stop();
  await files.stop();
});

async function expectSaved(): Promise<void> {
  expect(await readdir(folder.path)).toEqual(['file.bin']);
  const saved = await readFile(join(folder.path, 'file.bin'));
  expect(sha256(saved)).toBe(files.digest(files.url('none')));
}

test('a log-in in the URL opens the gate, is not shown, and goes to no other host', async () => {
  const own = ['--header', 'X-Own: secret', '--header', 'Cookie: given=secret'];
  const page = ['--header', 'Referer: http://page.test/secret?secret'];
  const url = `http://tom:sesame-secret@${gateHost}/file.bin`;
  const result = await runCli(['get', url, '-d', folder.path, ...own, ...page]);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).not.toContain('secret');
  await expectSaved();
  expect(seen[0]).toMatchObject({
    'x-own': 'secret',
    cookie: 'given=secret',
    referer: 'http://page.test/secret?secret',
  });
  expect(files.requests.length).toBeGreaterThan(0);
  for (const { headers } of files.requests) {
    expect(JSON.stringify(headers)).not.toMatch(/secret|authorization|cookie/);
    expect(headers.referer).toBe('http://page.test/');
  }
});

test('a wrong password is refused by the origin, and is not shown', async () => {
  const url = `http://tom:other-secret@${gateHost}/file.bin`;
  for (const form of [[], ['--json']]) {
    const result = await runCli(['get', url, '-d', folder.path, ...form]);
    expect(result.code).toBe(4);
    expect(result.stdout + result.stderr).toContain(gateHost);
    expect(result.stdout + result.stderr).not.toContain('secret');
  }
  expect(await readdir(folder.path)).toEqual([]);
});

test('a cookie of a cookie file goes to its host, and the edge is not asked', async () => {
  const file = join(folder.path, 'cookies.txt');
  await writeFile(file, '127.0.0.1\tFALSE\t/\tFALSE\t0\tfrom-file\tsecret\n');
  const cookies = ['--cookies', file, '--edge', edge.url, '-o', join(folder.path, 'out')];
  const result = await runCli(['get', files.url('none'), ...cookies]);
  expect(result.code).toBe(0);
  expect(files.requests.length).toBeGreaterThan(0);
  for (const { headers } of files.requests) expect(headers.cookie).toBe('from-file=secret');
  expect((await edge.status()).transfers.requests).toBe(0);
});
