/** RPC through a server in this process, with downloads that neither end nor touch the network. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { SEVERAL_V1, withSeeds } from '@millrace/shared/download/torrent/testing/torrents';
import { type Answer, agreed } from '@millrace/shared/testing/agreed';
import { findDaemon, RpcClient } from '../../client/rpc-client.ts';
import { createLastingDownload } from '../../testing/lasting-download.ts';
import { type Daemon, startDaemon } from '../daemon/daemon.ts';
import type { ServeStream } from '../downloads/streams.ts';

let closedStreams: number;
/** Number of streams so far, which makes each stream's URL unique. */
let streams = 0;
const serveStream: ServeStream = async () => ({
  url: `http://127.0.0.1/${++streams}`,
  readers: 0,
  async close() {
    closedStreams++;
  },
});

let state: string;
let daemon: Daemon;
let client: RpcClient;

beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  closedStreams = 0;
  daemon = await startDaemon({
    state,
    dir: state,
    port: 0,
    createDownload: createLastingDownload,
    serveStream,
  });
  client = await RpcClient.connect(await findDaemon(state));
});
afterEach(async () => {
  client.close();
  await daemon.close();
  rmSync(state, { recursive: true, force: true });
});

/**
 * Calls one of our own methods. The result is checked against the contract, the parameters are not.
 */
const call = async <M extends string>(method: M, params?: object): Promise<Answer<M>> =>
  agreed(method, await client.call(method, params));
const aria2 = <T>(method: string, ...params: readonly unknown[]) =>
  client.callList<T>(`aria2.${method}`, ...params);
const add = (path: string, options: object = {}) =>
  aria2<string>('addUri', [`http://a.example/${path}`], options);
const gids = (list: readonly { gid: string }[]) => list.map(({ gid }) => gid);
const KEYS = ['gid'];

/** Waits until a download has a state. */
async function reaches(gid: string, status: string): Promise<DownloadView> {
  for (;;) {
    const view = await call('millrace.status', { gid });
    if (view.status === status && (status !== 'active' || view.path !== undefined)) return view;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("aria2's answers", () => {
  test('describe an active download, key by key', async () => {
    const gid = await add('x.iso', { split: '4' });
    await reaches(gid, 'active');
    expect(await aria2('tellStatus', gid)).toEqual({
      bitfield: '40',
      completedLength: '2000000',
      connections: '3',
      dir: state,
      downloadSpeed: '1000',
      files: [
        {
          completedLength: '2000000',
          index: '1',
          length: '5000000',
          path: join(state, 'x.iso'),
          selected: 'true',
          uris: [{ status: 'used', uri: 'http://a.example/x.iso' }],
        },
      ],
      gid,
      numPieces: '5',
      pieceLength: '1048576',
      status: 'active',
      totalLength: '5000000',
      uploadLength: '0',
      uploadSpeed: '0',
    });
    expect(await aria2('tellStatus', gid, ['status', 'gid', 'nonsense'])).toEqual({
      gid,
      status: 'active',
    });
    expect(await aria2('getServers', gid)).toEqual([
      {
        index: '1',
        servers: [
          {
            currentUri: 'http://a.example/x.iso',
            downloadSpeed: '1000',
            uri: 'http://a.example/x.iso',
          },
        ],
      },
    ]);
  });

  test.each([
    ['done', 'complete', '0'],
    ['origin-gone', 'error', '3'],
    ['origin-denied', 'error', '24'],
    ['checksum-mismatch', 'error', '32'],
    ['file-not-writable', 'error', '17'],
  ])('a download that ends with %s: %s %s', async (end, status, errorCode) => {
    const gid = await add(`x.iso/${end}`);
    await reaches(gid, status);
    const keys = ['status', 'errorCode'];
    expect(await aria2('tellStatus', gid, keys)).toEqual({ status, errorCode });
  });

  test('lists from the beginning and from the end', async () => {
    const paused: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) paused.push(await add(name, { pause: 'true' }));
    const [a, b, c, d] = paused;
    const waiting = (offset: number, count: number) =>
      aria2<{ gid: string }[]>('tellWaiting', offset, count, KEYS).then(gids);
    expect(await waiting(0, 10)).toEqual([a, b, c, d]);
    expect(await waiting(1, 2)).toEqual([b, c]);
    expect(await waiting(-1, 2)).toEqual([d, c]);
    expect(await waiting(-3, 9)).toEqual([b, a]);
    expect(await waiting(-9, 9)).toEqual([]);
    for (const gid of paused) await aria2('remove', gid);
    const stopped = (offset: number, count: number) =>
      aria2<{ gid: string }[]>('tellStopped', offset, count, KEYS).then(gids);
    expect(await stopped(0, 2)).toEqual([a, b]);
    expect(await stopped(-1, 3)).toEqual([d, c, b]);
    expect(await aria2('getGlobalStat')).toMatchObject({ numStopped: '4', numWaiting: '0' });
  });

  test('changePosition counts positions in three ways', async () => {
    const [a, b, c] = [
      await add('a', { pause: 'true' }),
      await add('b', { pause: 'true' }),
      await aria2<string>('addUri', ['http://a.example/c'], { pause: 'true' }, 0),
    ];
    const order = () => aria2<{ gid: string }[]>('tellWaiting', 0, 9, KEYS).then(gids);
    expect(await order()).toEqual([c, a, b]);
    expect(await aria2('changePosition', c, 1, 'POS_CUR')).toBe(1);
    expect(await aria2('changePosition', b, 0, 'POS_SET')).toBe(0);
    expect(await aria2('changePosition', b, 0, 'POS_END')).toBe(2);
    expect(await order()).toEqual([a, c, b]);
    await expect(aria2('changePosition', b, 0, 'POS_X')).rejects.toThrow('Illegal argument.');
  });

  test('changing one option keeps its related ones, and no password is sent back', async () => {
    const gid = await add('x', {
      header: ['Cookie: a=b', 'Accept: x'],
      'http-user': 'me',
      'http-passwd': 'secret',
      'all-proxy': 'http://u:hidden@p.example:1/',
      pause: 'true',
    });
    const shown = await aria2<Record<string, string>>('getOption', gid);
    expect(shown['http-user']).toBe('me');
    expect(JSON.stringify(shown)).not.toMatch(/secret|hidden/);
    // Front ends send all options back, with one of them changed.
    await aria2('changeOption', gid, {
      ...shown,
      referer: 'http://r.example/',
      'http-user': 'you',
    });
    const exported = { format: 'json', secrets: true };
    const { text } = await call('millrace.export', exported);
    expect(JSON.parse(text).downloads[0].request).toMatchObject({
      headers: { cookie: 'a=b', accept: 'x', referer: 'http://r.example/' },
      login: { user: 'you', password: 'secret' },
      proxy: 'http://u:hidden@p.example:1/',
    });
  });

  test('changeUri removes and inserts URIs', async () => {
    const gid = await add('x', { pause: 'true' });
    const [old, first, last] = ['x', '1', '2'].map((name) => `http://a.example/${name}`);
    expect(await aria2('changeUri', gid, 1, [], [last])).toEqual([0, 1]);
    expect(await aria2('changeUri', gid, 1, [old, old], [first, 'nonsense'], 0)).toEqual([1, 1]);
    const uris = await aria2<{ uri: string }[]>('getUris', gid);
    expect(uris.map(({ uri }) => uri)).toEqual([first, last]);
  });

  test.each([
    ['tellStatus', [], 'The parameter at 0 is required but missing.'],
    ['tellStatus', [7], 'The parameter at 0 has wrong type.'],
    ['tellStatus', ['zz'], 'Invalid GID zz'],
    ['tellStatus', ['0123456789abcdef'], 'GID 0123456789abcdef is not found'],
    ['tellWaiting', [0], 'The parameter at 1 is required but missing.'],
    ['tellWaiting', [0, -1], 'The parameter at 1 has wrong type.'],
    ['addUri', [[]], 'URI is not provided.'],
    ['addUri', [['nonsense', 'ftp://a.example/']], 'No URI to download.'],
    ['addTorrent', [7], 'The parameter at 0 has wrong type.'],
    ['nonsense', [], 'No such method: aria2.nonsense'],
  ])('%s of %j is refused: %s', async (method, params, message) => {
    await expect(aria2(method, ...params)).rejects.toMatchObject({ code: 1, message });
  });

  test('a torrent is added by its web seeds and by the URIs that are given with it', async () => {
    const document = withSeeds(SEVERAL_V1.document, ['http://a.example/']);
    const torrent = Buffer.from(document).toString('base64');
    const uris = ['http://b.example/', 'udp://t.example'];
    const gid = await aria2<string>('addTorrent', torrent, uris, { pause: 'true' }, 0);
    const waiting = await aria2<{ gid: string }[]>('tellWaiting', 0, 9, KEYS);
    const urls = await Promise.all(
      gids(waiting).map(async (one) => (await call('millrace.status', { gid: one })).urls),
    );
    expect(waiting[0]).toEqual({ gid });
    expect(urls).toEqual(
      ['a.bin', 'inside/b%20c.bin', 'z.bin'].map((name) =>
        ['b', 'a'].map((host) => `http://${host}.example/folder/${name}`),
      ),
    );
    const alone = Buffer.from(SEVERAL_V1.document).toString('base64');
    await expect(aria2('addTorrent', alone)).rejects.toThrow(/names no web server/);
    const magnet = `magnet:?xt=urn:btih:${SEVERAL_V1.v1}&dn=x&ws=http%3A%2F%2Fc.example%2Fx`;
    const file = await aria2<string>('addUri', [magnet], { pause: 'true' });
    expect((await call('millrace.status', { gid: file })).urls).toEqual(['http://c.example/x']);
  });

  test('names that would leave the folder are refused', async () => {
    const message = "We encountered a problem while processing the option '--out'.";
    await expect(add('x', { out: '../x' })).rejects.toThrow(message);
    expect(await aria2('tellActive')).toEqual([]);
  });
});

describe('our own answers', () => {
  test('errors have a code, advice, and an exit status', async () => {
    await expect(call('millrace.status', { gid: 'abc' })).rejects.toMatchObject({
      code: 1,
      data: { code: 'no-such-download', exit: 2, retryable: false, advice: expect.any(String) },
    });
    await expect(call('millrace.status', {})).rejects.toMatchObject({ code: -32602 });
    await expect(call('millrace.status', { gid: 'abc', x: 1 })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(call('millrace.nonsense')).rejects.toMatchObject({ code: -32601 });
    await expect(call('millrace.add', { urls: ['x'] })).rejects.toMatchObject({
      data: { code: 'bad-url' },
    });
  });

  test('lists are filtered, and paged across queue and history', async () => {
    const done = await add('film.mkv/done');
    await reaches(done, 'complete');
    const failed = await add('old.iso/origin-gone');
    await reaches(failed, 'error');
    const paused = await add('film.mkv', { pause: 'true' });
    const find = async (params: object, method: 'list' | 'search' = 'list') => {
      const { total, downloads } = await call(`millrace.${method}`, params);
      return [total, ...gids(downloads)];
    };
    expect(await find({})).toEqual([3, paused, failed, done]);
    expect(await find({ offset: 1, limit: 1 })).toEqual([3, failed]);
    expect(await find({ offset: 2 })).toEqual([3, done]);
    expect(await find({ limit: 0 })).toEqual([3]);
    expect(await find({ status: ['paused', 'error'] })).toEqual([2, paused, failed]);
    expect(await find({ category: 'video' })).toEqual([1, paused]);
    expect(await find({ host: 'b.example' })).toEqual([0]);
    expect(await find({ text: 'FILM a.example' }, 'search')).toEqual([2, paused, done]);
    expect(await find({ text: '' }, 'search')).toEqual([3, paused, failed, done]);
    expect(await find({ text: 'film', status: ['complete'] }, 'search')).toEqual([1, done]);
  });

  test('the schedule is set and shown in clock times', async () => {
    const windows = [{ days: ['mon', 'tue'], from: '22:00', to: '06:30', limit: 1000 }];
    expect(await call('millrace.setSchedule', { windows })).toMatchObject({ windows });
    expect(await call('millrace.getSchedule')).toMatchObject({ windows });
    for (const bad of [
      { ...windows[0], from: '25:00' },
      { ...windows[0], pause: true },
      { days: ['mon'], from: '1:00', to: '2:00' },
      { ...windows[0], days: [] },
    ]) {
      const refused = call('millrace.setSchedule', { windows: [bad] });
      await expect(refused).rejects.toMatchObject({ code: -32602 });
    }
    expect(await call('millrace.getSchedule')).toMatchObject({ windows });
  });

  test('limits are set and removed one by one', async () => {
    await call('millrace.setLimits', { limit: 5000, perHost: 2 });
    await call('millrace.setLimits', { concurrent: 7 });
    expect(await call('millrace.getLimits')).toEqual({
      limit: 5000,
      perHost: 2,
      concurrent: 7,
      hosts: [],
    });
    await call('millrace.setLimits', { limit: null, perHost: null });
    expect(await call('millrace.getLimits')).toEqual({ concurrent: 7, hosts: [] });
    await expect(call('millrace.setLimits', { concurrent: 0 })).rejects.toThrow();
  });

  test('strip and sources of a download are shown while it runs', async () => {
    const gid = await add('x.iso');
    await reaches(gid, 'active');
    expect(await call('millrace.strip', { gid, cells: 3 })).toEqual({
      length: 5_000_000,
      cells: [0.5, 1, 0.5],
    });
    expect(await call('millrace.sources', { gid })).toMatchObject({
      sources: [{ label: 'a', kind: 'origin', connections: 3 }],
    });
    expect(await call('millrace.info')).toMatchObject({
      counts: { active: 1, stopped: 0 },
      schedule: { now: 'free' },
    });
  });

  test('a download has one stream address until it stops', async () => {
    const open = (gid: string) => call('millrace.stream', { gid });
    const gid = await add('film.mkv');
    await reaches(gid, 'active');
    const { url } = await open(gid);
    expect(await open(gid)).toEqual({ url });
    await call('millrace.pause', { gids: [gid] });
    await expect(open(gid)).rejects.toMatchObject({ data: { code: 'wrong-state' } });
    expect(closedStreams).toBe(1);
    await call('millrace.resume', { gids: [gid] });
    // The new run begins only when the earlier one has ended.
    const again = async (): Promise<{ url: string }> => open(gid).catch(again);
    expect((await again()).url).not.toBe(url);
    const done = await add('song.mp3/done');
    await reaches(done, 'complete');
    expect(await open(done)).toEqual(await open(done));
    await daemon.close();
    expect(closedStreams).toBe(3);
  });

  test('shutting down disconnects the clients', async () => {
    await call('millrace.shutdown');
    await client.closed;
    await daemon.ended;
    await expect(call('millrace.info')).rejects.toThrow(/No daemon is running/);
    await expect(findDaemon(state)).rejects.toThrow(/No daemon is running/);
  });
});

test('the oldest stream without readers makes room for a new one', async () => {
  for (let i = 0; i < 33; i++) {
    const gid = await add(`${i}.mkv/done`);
    await reaches(gid, 'complete');
    await call('millrace.stream', { gid });
  }
  expect(closedStreams).toBe(1);
  await call('millrace.purge', {});
  for (; closedStreams < 33; ) await new Promise((resolve) => setImmediate(resolve));
});

describe('addresses', () => {
  test('that other machines can reach are refused', async () => {
    const other = mkdtempSync(join(tmpdir(), 'millrace-test-'));
    const options = { state: other, dir: other, port: 0, createDownload: createLastingDownload };
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com']) {
      await expect(startDaemon({ ...options, host })).rejects.toThrow(/not a loopback address/);
    }
    rmSync(other, { recursive: true, force: true });
  });
});
