/** Answers to the methods of aria2, through a server in this process. */

import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SEVERAL_V1, withSeeds } from '@millrace/shared/download/torrent/testing/torrents';
import { gidsOf, RpcStage } from '../../../testing/rpc-stage.ts';

const KEYS = ['gid'];

const stage = new RpcStage();
const { call, aria2, add, reaches } = stage;
beforeEach(() => stage.begin());
afterEach(() => stage.end());

describe("aria2's answers", () => {
  test('describe an active download, key by key', async () => {
    const gid = await add('x.iso', { split: '4' });
    await reaches(gid, 'active');
    expect(await aria2('tellStatus', gid)).toEqual({
      bitfield: '40',
      completedLength: '2000000',
      connections: '3',
      dir: stage.state,
      downloadSpeed: '1000',
      files: [
        {
          completedLength: '2000000',
          index: '1',
          length: '5000000',
          path: join(stage.state, 'x.iso'),
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
      aria2<{ gid: string }[]>('tellWaiting', offset, count, KEYS).then(gidsOf);
    expect(await waiting(0, 10)).toEqual([a, b, c, d]);
    expect(await waiting(1, 2)).toEqual([b, c]);
    expect(await waiting(-1, 2)).toEqual([d, c]);
    expect(await waiting(-3, 9)).toEqual([b, a]);
    expect(await waiting(-9, 9)).toEqual([]);
    for (const gid of paused) await aria2('remove', gid);
    const stopped = (offset: number, count: number) =>
      aria2<{ gid: string }[]>('tellStopped', offset, count, KEYS).then(gidsOf);
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
    const order = () => aria2<{ gid: string }[]>('tellWaiting', 0, 9, KEYS).then(gidsOf);
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
      gidsOf(waiting).map(async (one) => (await call('millrace.status', { gid: one })).urls),
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
