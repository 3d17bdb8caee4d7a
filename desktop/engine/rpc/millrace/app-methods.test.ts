/** Methods for the page and the shell, called through a server in this process. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  CONTRACT,
  type MethodName,
  type ParamsOf,
} from '@millrace/shared/bridge/contract/contract';
import type { OpenRpc } from '@millrace/shared/bridge/contract/open-rpc';
import type {
  AddManyResult,
  MetalinkFile,
  ParsedText,
} from '@millrace/shared/bridge/rpc/adding-api';
import type { ListPage } from '@millrace/shared/bridge/rpc/list-api';
import type { LiveUpdate } from '@millrace/shared/bridge/rpc/live-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import { FILES, SEVERAL_V1, withSeeds } from '@millrace/shared/download/torrent/testing/torrents';
import { type Answer, agreed } from '@millrace/shared/testing/agreed';
import { FakeRun } from '../../../testing/fake-daemon.ts';
import { RpcStage } from '../../../testing/rpc-stage.ts';
import type { DownloadFactory } from '../../queue/contract.ts';

const METALINK = `<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <file name="one.iso"><size>10</size>
    <hash type="sha-256">${'a'.repeat(64)}</hash>
    <url priority="2">http://b.example/one.iso</url><url priority="1">http://a.example/one.iso</url>
  </file>
  <file name="sub/two.mkv"><url>http://a.example/two.mkv</url></file>
  <file name="three.bin"><url>ftp://a.example/three.bin</url></file>
</metalink>`;
const metalink = Buffer.from(METALINK).toString('base64');

const createDownload: DownloadFactory = Object.assign(
  (...given: ConstructorParameters<typeof FakeRun>) => new FakeRun(...given),
  { removePartial: async () => {}, removeJournal: async () => {}, movePartial: async () => 0 },
);
const stage = new RpcStage(createDownload);
beforeEach(() => stage.begin());
afterEach(() => stage.end());

const call = async <M extends MethodName>(name: M, params: ParamsOf<M>): Promise<Answer<M>> =>
  agreed(name, await stage.client.call(name, params));
const add = (name: string, more: object = {}) =>
  call('millrace.add', { urls: [`http://a.example/${name}`], paused: true, ...more });
const list = (): Promise<ListPage> => call('millrace.list', {});

describe('adding', () => {
  test('links in pasted text come with their target folders and known duplicates', async () => {
    const { gid } = await add('film.mkv');
    await call('millrace.setSettings', {
      categories: [{ name: 'video', folder: 'Films', extensions: ['mkv'] }],
    });
    const text = 'http://a.example/film.mkv, http://a.example/list.meta4 and more';
    const { links, truncated }: ParsedText = await call('millrace.parseText', { text });
    expect(truncated).toBe(false);
    expect(links).toEqual([
      {
        url: 'http://a.example/film.mkv',
        name: 'film.mkv',
        category: 'video',
        dir: join(stage.state, 'Films'),
        metalink: false,
        exnode: false,
        duplicate: {
          url: 'http://a.example/film.mkv',
          same: 'url',
          gid,
          name: 'film.mkv',
          status: 'paused',
        },
      },
      {
        ...{ url: 'http://a.example/list.meta4', name: 'list.meta4', dir: stage.state },
        ...{ metalink: true, exnode: false },
      },
    ]);
    const more = await call('millrace.parseText', {
      text: "curl 'http://a.example/x' -H 'Cookie: a=b' -o y.mkv",
    });
    expect(more.links).toMatchObject([
      { url: 'http://a.example/x', name: 'y.mkv', options: { headers: { cookie: 'a=b' } } },
    ]);
    expect(
      (await call('millrace.parseText', { text: 'curl -I http://a.example/' })).problems,
    ).toEqual([
      {
        fault: 'option-head',
        values: { option: '-I' },
        text: expect.stringMatching('header alone'),
      },
    ]);
    const urls = ['http://a.example/film.mkv?x', 'http://a.example/other'];
    const { duplicates } = await call('millrace.checkDuplicates', { urls });
    expect(duplicates).toMatchObject([{ url: urls[0], same: 'path', gid }]);
  });

  test('invalid downloads of a batch do not stop the others', async () => {
    const downloads = [
      { urls: ['http://a.example/1'], paused: true },
      { urls: ['ftp://a.example/2'] },
      { urls: ['http://a.example/3'], paused: true, nonsense: 1 },
      { urls: ['http://a.example/4'], paused: true },
    ];
    const { gids, failed }: AddManyResult = await call('millrace.addMany', { downloads });
    expect(failed.map(({ index, code }) => [index, code])).toEqual([
      [1, 'bad-url'],
      [2, 'bad-option'],
    ]);
    expect((await list()).downloads.map(({ gid }) => gid)).toEqual(gids);
  });

  test('a Metalink document can be read before any of its files is added', async () => {
    const { files } = await call('millrace.readMetalink', { metalink });
    expect(files satisfies readonly MetalinkFile[]).toMatchObject([
      {
        index: 0,
        name: 'one.iso',
        size: 10,
        urls: ['http://a.example/one.iso', 'http://b.example/one.iso'],
        digests: [{ algorithm: 'sha256', hex: 'a'.repeat(64) }],
        usable: true,
      },
      { index: 1, name: 'sub/two.mkv', category: 'video', usable: true },
      { index: 2, usable: false, urls: [] },
    ]);
    expect((await list()).total).toBe(0);
    await call('millrace.addMetalink', { metalink, only: [1, 2, 7, 1], paused: true });
    expect((await list()).downloads.map(({ name }) => name)).toEqual([join('sub', 'two.mkv')]);
    const nonsense = Buffer.from('<x').toString('base64');
    await expect(call('millrace.readMetalink', { metalink: nonsense })).rejects.toMatchObject({
      data: { code: 'bad-metalink' },
    });
  });

  test('the files of a torrent stay together, and a web server must be known', async () => {
    const seeds = ['http://a.example/x/', 'http://127.0.0.1/y/'];
    const document = withSeeds(SEVERAL_V1.document, seeds);
    const torrent = Buffer.from(document).toString('base64');
    const { files } = await call('millrace.readMetalink', { metalink: torrent });
    expect(files).toMatchObject(
      FILES.map(([name, size], index) => ({
        index,
        name: `folder/${name}`,
        size,
        dir: stage.state,
      })),
    );
    const mirrors = ['http://10.0.0.1/z/'];
    const some = { metalink: torrent, only: [0, 2], mirrors, paused: true };
    const { gids } = await call('millrace.addMetalink', some);
    const details = await Promise.all(gids.map((gid) => call('millrace.status', { gid })));
    expect(details.map(({ urls, dir }) => ({ urls, dir }))).toEqual(
      ['a.bin', 'z.bin'].map((name) => ({
        urls: [...mirrors, ...seeds].map((url) => `${url}folder/${name}`),
        dir: stage.state,
      })),
    );
    const without = { metalink: Buffer.from(SEVERAL_V1.document).toString('base64') };
    for (const method of ['millrace.readMetalink', 'millrace.addMetalink'] as const) {
      await expect(call(method, without)).rejects.toMatchObject({ data: { code: 'no-web-seed' } });
    }
    const magnet = Buffer.from(`magnet:?xt=urn:btih:${SEVERAL_V1.v1}`).toString('base64');
    await expect(call('millrace.readMetalink', { metalink: magnet })).rejects.toMatchObject({
      data: { code: 'no-web-seed' },
    });
  });

  test('settings apply to a download that asks for nothing else', async () => {
    await call('millrace.setSettings', {
      proxy: 'http://p.example:3128',
      defaults: { connections: 3, sidecars: true },
    });
    await call('millrace.addEdge', { url: 'edge.example:3125' });
    const usual = await add('usual', { useEdges: true });
    const own = await add('own', { proxy: 'direct', connections: 5, edges: [], useEdges: true });
    const requestOf = ({ gid }: { gid: string }) => stage.daemon.manager.get(gid).request;
    expect(requestOf(usual)).toMatchObject({
      proxy: 'http://p.example:3128',
      connections: 3,
      sidecars: true,
      edges: ['http://edge.example:3125/'],
    });
    expect(requestOf(own)).toMatchObject({ proxy: 'direct', connections: 5, edges: [] });
    await call('millrace.changeEdge', { url: 'http://edge.example:3125', enabled: false });
    expect(requestOf(await add('off', { useEdges: true })).edges).toEqual([]);
  });
});

describe('many downloads at once', () => {
  test('are changed together, or not at all', async () => {
    const [one, two] = [(await add('1')).gid, (await add('2')).gid];
    await call('millrace.changeMany', { gids: [one, two], priority: 7, limit: 1000 });
    const views = (await list()).downloads;
    expect(views.map(({ priority, limit }) => [priority, limit])).toEqual([
      [7, 1000],
      [7, 1000],
    ]);
    const missing = { gids: [one, 'ffffffffffffffff'], priority: 1 };
    await expect(call('millrace.changeMany', missing)).rejects.toMatchObject({
      data: { code: 'no-such-download' },
    });
    expect((await call('millrace.status', { gid: one })).priority).toBe(7);
  });

  test('move to the place that they are dragged to', async () => {
    const gids: string[] = [];
    for (const name of ['1', '2', '3']) gids.push((await add(name)).gid);
    const [one, two, three] = gids as [string, string, string];
    await call('millrace.place', { gids: [three, two], before: one });
    expect((await list()).downloads.map(({ gid }) => gid)).toEqual([three, two, one]);
    await call('millrace.place', { gids: [three], before: null });
    expect((await list()).downloads.map(({ gid }) => gid)).toEqual([two, one, three]);
  });
});

describe('settings', () => {
  test('are read and changed as a whole, and an invalid change changes nothing', async () => {
    const before: AppSettings = await call('millrace.getSettings', {});
    expect(before).toMatchObject({
      dir: stage.state,
      limits: { limit: null, perHost: null },
      edges: [],
    });
    const windows = [{ days: ['mon' as const], from: '08:00', to: '18:00', limit: 1000 }];
    const after = await call('millrace.setSettings', {
      limits: { limit: 5000 },
      windows,
      dir: join(stage.state, 'elsewhere'),
    });
    expect(after).toMatchObject({
      dir: join(stage.state, 'elsewhere'),
      limits: { limit: 5000, concurrent: before.limits.concurrent },
      windows,
    });
    for (const wrong of [
      { limits: { limit: 1 }, proxy: 'gopher://x' },
      { language: 'de', dir: 'relative' },
      { language: 'de', categories: [{ name: '', folder: '', extensions: [] }] },
      { language: 'no such language' },
      { nonsense: true },
    ]) {
      await expect(stage.client.call('millrace.setSettings', wrong)).rejects.toThrow();
    }
    expect(await call('millrace.getSettings', {})).toEqual(after);
    expect(await call('millrace.setSettings', { dir: null })).toMatchObject({ dir: stage.state });
  });

  test('changed by one client are sent to all clients that watch', async () => {
    const updates: LiveUpdate[] = [];
    const told = new Promise<void>((resolve) => {
      stage.client.onNotification((method, [update]) => {
        if (method !== 'millrace.onUpdate') return;
        updates.push(update as LiveUpdate);
        if (updates.at(-1)?.settings !== undefined) resolve();
      });
    });
    const { settings } = await call('millrace.watch', {});
    expect(settings.language).toBe('system');
    await call('millrace.setSettings', { language: 'de' });
    await told;
    expect(updates.at(-1)?.settings?.language).toBe('de');
  });
});

describe('system.listNotifications', () => {
  test('names every notification that a client gets, live updates included', async () => {
    const received = new Set<string>();
    const both = new Promise<void>((resolve) => {
      stage.client.onNotification((method) => {
        received.add(method);
        if (received.has('millrace.onChange') && received.has('millrace.onUpdate')) resolve();
      });
    });
    await call('millrace.subscribe', {});
    await call('millrace.watch', {});
    await add('one');
    await both;
    const listed = await stage.client.callList<string[]>('system.listNotifications');
    expect(listed).toEqual(expect.arrayContaining([...received]));
  });
});

describe('rpc.discover', () => {
  test('returns the contract, whose methods are all served', async () => {
    const document = await stage.client.callList<OpenRpc>('rpc.discover');
    expect(document).toMatchObject({ openrpc: '1.3.2', info: { title: 'Millrace' } });
    expect(document.methods.map(({ name }) => name)).toEqual(Object.keys(CONTRACT));
    const served = await stage.client.callList<string[]>('system.listMethods');
    expect(served).toEqual(expect.arrayContaining(Object.keys(CONTRACT)));
    const trash = document.methods.find(({ name }) => name === 'millrace.trash');
    expect(trash?.params).toContainEqual({
      name: 'limit',
      required: false,
      schema: { type: 'integer', minimum: 0, maximum: 1000, default: 100 },
    });
  });
});

test('a call that waits for a server holds up no other call of its connection', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  const asked = once(silent, 'connection');
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = silent.address() as AddressInfo;
    let isAnswered = false;
    const probe = call('millrace.probe', {
      downloads: [{ urls: [`http://127.0.0.1:${port}/f.iso`] }],
    }).finally(() => {
      isAnswered = true;
    });
    await asked;
    await call('millrace.getCategories', {});
    expect(isAnswered).toBe(false);
    for (const socket of sockets) socket.destroy();
    silent.close();
    expect((await probe).links[0]?.problem).toBeDefined();
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});
