/** Methods of adding that take their time: questions of dialogs, and long lists. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { serveHttp } from '@millrace/shared/node/testing/http-server';
import { FakeRun } from '../../../testing/fake-daemon.ts';
import { RpcStage } from '../../../testing/rpc-stage.ts';
import type { DownloadFactory } from '../../queue/contract.ts';

const createDownload: DownloadFactory = Object.assign(
  (...given: ConstructorParameters<typeof FakeRun>) => new FakeRun(...given),
  { removePartial: async () => {}, removeJournal: async () => {}, movePartial: async () => 0 },
);
const stage = new RpcStage(createDownload);
beforeEach(() => stage.begin());
afterEach(() => stage.end());
const { call } = stage;

describe('a dialog that asks by itself', () => {
  let requests = 0;
  const server = serveHttp((_, response) => {
    requests++;
    response.writeHead(206, { etag: '"1"', 'content-range': 'bytes 0-3/4' }).end('file');
  });

  test('has each server asked once a minute', async () => {
    const downloads = [{ urls: [`${server.url}/f.iso`] }];
    const answers = await Promise.all([
      call('millrace.probe', { downloads, dialog: 'a' }),
      call('millrace.probe', { downloads, dialog: 'b' }),
    ]);
    answers.push(await call('millrace.probe', { downloads, dialog: 'a' }));
    for (const { links } of answers) expect(links).toMatchObject([{ length: 4, resumable: true }]);
    expect(requests).toBe(1);
    await call('millrace.probe', { downloads });
    expect(requests).toBe(2);
  });

  test('gives its question up when it is closed', async () => {
    const silent = createServer();
    const first = once(silent, 'connection');
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = silent.address() as AddressInfo;
      const slow = { urls: [`http://127.0.0.1:${port}/f.iso`] };
      const asked = call('millrace.probe', { downloads: [slow], dialog: 'a' });
      const refused = expect(asked).rejects.toThrow('Interrupted');
      const [socket] = (await first) as [Socket];
      const left = once(socket.resume(), 'close');
      expect(await call('millrace.probe', { downloads: [], dialog: 'a' })).toEqual({ links: [] });
      await Promise.all([refused, left]);
    } finally {
      silent.close();
    }
  });
});

test('a long list is imported in turns: calls are answered meanwhile, and its most urgent download starts first', async () => {
  const names = Array.from({ length: 2000 }, (_, i) => `${i}.bin`);
  await call('millrace.setSettings', { limits: { concurrent: 1 } });
  const text = JSON.stringify({
    millrace: 'downloads',
    format: 1,
    downloads: names.map((name, i) => ({
      request: { urls: [`http://a.example/${name}`] },
      priority: i === 1999 ? 5 : 0,
    })),
  });
  const order: string[] = [];
  const imported = call('millrace.import', { text }).then((result) => {
    order.push('import');
    return result;
  });
  await call('millrace.getCategories', {}).then(() => order.push('other'));
  expect(order).toEqual(['other']);
  const { gids, skipped } = await imported;
  expect([gids.length, skipped]).toEqual([2000, []]);
  const { downloads } = await call('millrace.list', { status: ['active'] });
  expect(downloads.map(({ gid }) => gid)).toEqual([gids.at(-1)]);
});

test('a long list is exported in turns, and each download comes once', async () => {
  const names = Array.from({ length: 1000 }, (_, i) => `${i}.bin`);
  const finishedAt = 1;
  const entries = names.map((name, i) => {
    const request = { urls: [`http://a.example/${name}`] };
    return i < 500 ? { request, state: 'complete', finishedAt, name } : { request, paused: true };
  });
  await call('millrace.setSettings', { limits: { concurrent: 1 } });
  const list = { millrace: 'downloads', format: 1, downloads: entries };
  const { gids } = await call('millrace.import', { text: JSON.stringify(list) });
  let isDone = false;
  const exported = call('millrace.export', { format: 'json' }).finally(() => {
    isDone = true;
  });
  // Turns of the event loop in which the daemon, which runs in this process, could answer others.
  let turns = 0;
  for (; !isDone; turns++) await nextTurn();
  expect(turns).toBeGreaterThanOrEqual(10);
  const { text } = await exported;
  const { downloads } = JSON.parse(text) as { downloads: { gid: string }[] };
  expect(downloads.map(({ gid }) => gid).sort()).toEqual([...gids].sort());
  expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 1)}\n`);
});
