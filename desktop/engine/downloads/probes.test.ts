import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { serveHttp } from '@millrace/shared/node/testing/http-server';
import { FakeDaemon } from '../../testing/fake-daemon.ts';
import { probeLinks } from './probes.ts';

const BODY = Buffer.alloc(500, 7);

const server = serveHttp((request, response) => {
  const kind = request.url?.split('?')[1];
  if (kind === 'held') return;
  if (kind === 'none') return void response.writeHead(404).end();
  const type = { 'content-type': 'Application/ZIP; x=y' };
  if (kind === 'whole') return void response.writeHead(200, type).end(BODY);
  if (kind === 'named')
    Object.assign(type, { 'content-disposition': 'attachment; filename=n.zip' });
  if (kind === 'digest') {
    const sha = `sha-256=:${Buffer.alloc(32, 1).toString('base64')}:`;
    Object.assign(type, { 'repr-digest': sha, 'last-modified': 'Wed, 01 May 2024 10:00:00 GMT' });
  }
  response.writeHead(206, { ...type, etag: '"1"', 'content-range': 'bytes 0-499/500' }).end(BODY);
});

let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

const probe = (...paths: string[]) =>
  probeLinks(
    daemon.manager,
    paths.map((path) => ({ urls: [server.url + path] })),
  );

test('servers say what the files are, each in its place, and failures are told apart', async () => {
  expect(await probe('/a.zip', '/b?named', '/c.zip?whole', '/d?none')).toEqual([
    { name: 'a.zip', length: 500, type: 'application/zip', resumable: true, etag: '"1"' },
    { name: 'n.zip', length: 500, type: 'application/zip', resumable: true, etag: '"1"' },
    { name: 'c.zip', type: 'application/zip', resumable: false },
    { resumable: false, problem: 'origin-not-found' },
  ]);
  expect(await probeLinks(daemon.manager, [{ urls: ['ftp://h/x'] }])).toMatchObject([
    { problem: 'bad-url' },
  ]);
  expect(await probe('/a.zip?digest')).toMatchObject([
    {
      lastModified: 'Wed, 01 May 2024 10:00:00 GMT',
      digests: [{ algorithm: 'sha256', hex: '01'.repeat(32) }],
    },
  ]);
  expect(daemon.manager.unfinished()).toEqual([]);
});

test('a file of that name and length is found in the folder and in the list', async () => {
  const { dir } = daemon.manager.draft({ urls: [`${server.url}/a.zip`] }).request;
  writeFileSync(join(dir, 'a.zip'), BODY);
  writeFileSync(join(dir, 'b.zip'), BODY.subarray(1));
  const ended = { state: 'complete', createdAt: 1, finishedAt: 1, length: 500 } as const;
  daemon.manager.addFinished({ urls: ['http://other.example/c.zip'] }, ended);
  const found = await probe('/a.zip', '/b.zip', '/c.zip');
  expect(found.map(({ here }) => here)).toEqual(['folder', undefined, 'list']);
});

test('a server that is silent ends with the time of the call', async () => {
  const found = probeLinks(daemon.manager, [{ urls: [`${server.url}/a?held`] }], { ms: 300 });
  expect(await found).toEqual([{ resumable: false, problem: 'origin-timeout' }]);
});
