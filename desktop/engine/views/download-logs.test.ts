import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import { FakeDaemon, T0, until } from '../../testing/fake-daemon.ts';
import { DetailStore } from '../store/detail-store.ts';
import { detailOf } from './detail.ts';

let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(async () => {
  jest.useRealTimers();
  await daemon.remove();
});

const detail = (gid: string, cells = 10) =>
  detailOf(daemon.manager, daemon.downloadLogs, daemon.manager.get(gid), cells);
const events = (gid: string) => detail(gid).log.map(({ event }) => event);

describe('the log of a download', () => {
  test('lists the events of a download in order', async () => {
    const { gid, run } = await daemon.run('one');
    run.note('something worth knowing');
    daemon.manager.line.pause(gid);
    daemon.manager.line.resume(gid);
    await until(() => daemon.runs.length === 2);
    await daemon.runs[1]?.fail(new MillraceError('origin-busy', 'not now'));
    await until(() => daemon.manager.get(gid).state === 'waiting');
    expect(events(gid)).toEqual([
      'added',
      'started',
      'phase',
      'note',
      'paused',
      'resumed',
      'started',
      'phase',
      'retry',
    ]);
    const { log } = detail(gid);
    expect(log.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(log[3]).toMatchObject({ text: 'something worth knowing', at: T0 });
    const { retryAt } = daemon.manager.get(gid);
    expect(log[8]).toMatchObject({ code: 'origin-busy', retryAt });
  });

  test('keeps the last 200 entries', async () => {
    const { gid, run } = await daemon.run('one');
    for (let i = 0; i < 250; i++) run.note(`${i}`);
    const { log } = detail(gid);
    expect(log).toHaveLength(200);
    expect(log.at(-1)).toMatchObject({ text: '249', seq: 253 });
  });

  test('outlasts the daemon, together with the state of the last run', async () => {
    const { gid, run } = await daemon.run('one');
    run.storedBytes = 450;
    await run.fail(new MillraceError('origin-gone'));
    await until(() => daemon.manager.get(gid).state === 'error');
    await daemon.shut();
    daemon.open();
    const { running, map, sources, log } = detail(gid);
    expect(running).toBe(false);
    expect(map.stored).toEqual([100, 100, 100, 100, 50, 0, 0, 0, 0, 0]);
    expect(map.by.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(map.by.slice(5)).toEqual([-1, -1, -1, -1, -1]);
    expect(sources).toMatchObject([{ label: 'a.example', connections: 0, share: 1, rttMs: 12.3 }]);
    expect(log.at(-1)).toMatchObject({ event: 'failed', code: 'origin-gone' });
    daemon.manager.line.retry(gid);
    await until(() => daemon.runs.length === 2);
    expect(events(gid).slice(-3)).toEqual(['restored', 'started', 'phase']);
  });

  test('keeps a note that comes after the end of the run, though the daemon is killed then', async () => {
    const { gid, run } = await daemon.run('one');
    await run.complete();
    await until(() => daemon.manager.get(gid).state === 'complete');
    daemon.manager.note(gid, noteOf('shared-acted'));
    // A daemon that is killed stores nothing at its end: its log is as it is in the database.
    const stored = JSON.parse(JSON.stringify(new DetailStore(daemon.db).get(gid)));
    expect(stored.log.at(-1)).toMatchObject({ event: 'note', note: 'shared-acted' });
  });

  test('is deleted when its download is forgotten', async () => {
    const { gid, run } = await daemon.run('one');
    await run.complete();
    await until(() => daemon.manager.get(gid).state === 'complete');
    const kept = () => daemon.db.prepare('SELECT count(*) AS n FROM details').get()?.n;
    expect(kept()).toBe(1);
    daemon.manager.forget(gid);
    expect(kept()).toBe(0);
  });
});

describe('speed over time', () => {
  test('is sampled once a second while a download runs, and only then', async () => {
    await daemon.remove();
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    daemon = new FakeDaemon();
    const { gid, run } = await daemon.run('one');
    const tick = () => {
      daemon.now += 1000;
      jest.advanceTimersByTime(1000);
    };
    for (const bytes of [100, 300, 300]) {
      run.storedBytes = bytes;
      tick();
    }
    expect(detail(gid).speed).toEqual({
      endsAt: T0 + 3000,
      stepMs: 1000,
      bytesPerSecond: [100, 200, 0],
    });
    await run.complete();
    await until(() => daemon.manager.get(gid).state === 'complete');
    tick();
    const { count } = daemon.downloadLogs.speed;
    for (let i = 0; i < 5; i++) tick();
    expect(daemon.downloadLogs.speed.count).toBe(count);
  });
});

describe('the detail of a download', () => {
  test('shows no secrets of the user', () => {
    const gid = daemon.add('one', {
      paused: true,
      headers: { cookie: 'session=1', 'X-Api-Key': 'k', authorization: 'Basic x', referer: 'r' },
      proxy: 'http://user:password@proxy.example:3128',
    });
    const { headers, proxy } = detail(gid);
    expect(headers).toEqual({ cookie: '…', 'x-api-key': '…', authorization: '…', referer: 'r' });
    expect(proxy).toBe('http://proxy.example:3128/');
  });

  test('shows the digests that it should have, and whether it has them', async () => {
    const hex = 'a'.repeat(64);
    const digests = [{ algorithm: 'sha256' as const, hex }];
    const { gid, run } = await daemon.run('one', { digests });
    expect(detail(gid).digests).toEqual([{ ...digests[0], by: 'user', state: 'expected' }]);
    await run.fail(new MillraceError('checksum-mismatch'));
    await until(() => daemon.manager.get(gid).state === 'error');
    expect(detail(gid).digests).toMatchObject([{ state: 'mismatch' }]);
  });

  test('shows an empty map before the download has begun', () => {
    const gid = daemon.add('one', { paused: true });
    expect(detail(gid)).toMatchObject({
      running: false,
      map: { stored: [], by: [], arriving: [] },
      sources: [],
      log: [{ event: 'added', at: T0 }],
    });
  });
});
