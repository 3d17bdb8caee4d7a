/** RPC through a server in this process, with downloads that neither end nor touch the network. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findDaemon } from '../../client/rpc-client.ts';
import { createLastingDownload } from '../../testing/lasting-download.ts';
import { gidsOf, RpcStage } from '../../testing/rpc-stage.ts';
import { startDaemon } from '../daemon/daemon.ts';
import { HTTP_LIMITS } from './door.ts';

const stage = new RpcStage();
const { call, add, reaches } = stage;
beforeEach(() => stage.begin());
afterEach(() => stage.end());

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
      return [total, ...gidsOf(downloads)];
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
    expect(stage.closedStreams).toBe(1);
    await call('millrace.resume', { gids: [gid] });
    // The new run begins only when the earlier one has ended.
    const again = async (): Promise<{ url: string }> => open(gid).catch(again);
    expect((await again()).url).not.toBe(url);
    const done = await add('song.mp3/done');
    await reaches(done, 'complete');
    expect(await open(done)).toEqual(await open(done));
    await stage.daemon.close();
    expect(stage.closedStreams).toBe(3);
  });

  test('idle connections stay open for longer than their clients are told', async () => {
    const { url } = await findDaemon(stage.state);
    const { headers } = await fetch(url);
    expect(headers.get('keep-alive')).toBe('timeout=5');
    const { createServer } = process.getBuiltinModule('node:http');
    // This is all that Node shows of it without a wait.
    const { keepAliveTimeout, keepAliveTimeoutBuffer } = createServer(HTTP_LIMITS);
    expect([keepAliveTimeout, keepAliveTimeoutBuffer]).toEqual([5000, 30_000]);
  });

  test('shutting down disconnects the clients', async () => {
    await call('millrace.shutdown');
    await stage.client.closed;
    await stage.daemon.ended;
    await expect(call('millrace.info')).rejects.toThrow(/No daemon is running/);
    await expect(findDaemon(stage.state)).rejects.toThrow(/No daemon is running/);
  });
});

test('the oldest stream without readers makes room for a new one', async () => {
  for (let i = 0; i < 33; i++) {
    const gid = await add(`${i}.mkv/done`);
    await reaches(gid, 'complete');
    await call('millrace.stream', { gid });
  }
  expect(stage.closedStreams).toBe(1);
  await call('millrace.purge', {});
  for (; stage.closedStreams < 33; ) await new Promise((resolve) => setImmediate(resolve));
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
