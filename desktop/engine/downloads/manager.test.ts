import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManagerStage, MINUTE, T0 } from '../../testing/manager-stage.ts';

let stage: ManagerStage;
/** Contexts of runs whose end has been reported. */
const ended = new WeakSet<object>();

beforeEach(() => {
  stage = new ManagerStage();
});
afterEach(() => stage.clear());

describe('a download that ends', () => {
  test('complete is in the history, and the next one begins', async () => {
    stage.manager.setLimits({ concurrent: 1 });
    const first = await stage.add();
    const second = await stage.add({ urls: ['http://a.example/y.bin'] });
    expect(stage.runs).toHaveLength(1);
    stage.last().begin();
    await stage.last().complete();
    expect(stage.manager.get(first)).toMatchObject({
      state: 'complete',
      finishedAt: T0,
      length: 100,
      path: join(stage.folder, 'x.bin'),
    });
    expect(stage.manager.get(second).state).toBe('active');
    expect(stage.events).toEqual(['started', 'completed', 'started']);
  });

  test('counts the time in which it ran, not the time it waited', async () => {
    const gid = await stage.add();
    stage.now += 2000;
    await stage.last().fail('origin-error');
    await stage.later(10 * MINUTE);
    stage.now += 3000;
    stage.manager.line.pause(gid);
    await stage.settled();
    await stage.later(10 * MINUTE);
    stage.manager.line.resume(gid);
    await stage.settled();
    stage.now += 5000;
    await stage.last().complete();
    expect(stage.manager.get(gid)).toMatchObject({ state: 'complete', activeMs: 10_000 });
  });

  test('releases its file once its completion is recorded', async () => {
    const gid = await stage.add();
    const run = stage.last();
    const written: unknown[] = [];
    run.settle = async (isWritten) => {
      written.push(isWritten, stage.manager.store.get(gid)?.state);
    };
    await run.complete();
    expect(written).toEqual([true, 'complete']);
  });

  test('while the daemon shuts down is left for the next start', async () => {
    const gid = await stage.add();
    const run = stage.last();
    run.lingers = true;
    const closed = stage.manager.close();
    await run.complete();
    await closed;
    expect(run.settlings).toEqual([false]);
    expect(stage.manager.store.get(gid)?.finishedAt).toBeUndefined();
  });

  test('in a permanent failure is not retried', async () => {
    const gid = await stage.add();
    await stage.last().fail('origin-not-found', 'it answered 404');
    expect(stage.manager.get(gid)).toMatchObject({
      state: 'error',
      error: { code: 'origin-not-found', detail: 'it answered 404' },
    });
    expect(stage.events).toEqual(['started', 'failed']);
    expect(stage.manager.line.retry(gid)).toBe(true);
    await stage.settled();
    expect(stage.runs).toHaveLength(2);
  });

  test('in a temporary failure is retried, later each time, and a limited number of times', async () => {
    const gid = await stage.add({ maxTries: 3 });
    await stage.last().fail('origin-error');
    expect(stage.manager.get(gid)).toMatchObject({
      state: 'waiting',
      retryAt: T0 + 5000,
      attempts: 1,
    });
    await stage.later(4999);
    expect(stage.runs).toHaveLength(1);
    await stage.later(1);
    expect(stage.runs).toHaveLength(2);
    await stage.last().fail('origin-busy', '', 5 * MINUTE);
    expect(stage.manager.get(gid).retryAt).toBe(stage.now + 5 * MINUTE);
    await stage.later(5 * MINUTE);
    await stage.last().fail('origin-error');
    expect(stage.manager.get(gid).state).toBe('error');
  });

  test('for lack of disk space is retried until there is room', async () => {
    const gid = await stage.add({ maxTries: 1 });
    for (let i = 0; i < 12; i++) {
      await stage.last().fail('disk-full', stage.folder);
      expect(stage.manager.get(gid)).toMatchObject({
        state: 'waiting',
        error: { code: 'disk-full' },
      });
      await stage.later(15 * MINUTE);
    }
    await stage.last().complete();
    expect(stage.manager.get(gid)).toMatchObject({ state: 'complete', error: undefined });
  });

  test('for lack of a network is retried until there is one, if bytes had come before', async () => {
    const never = await stage.add({ maxTries: 1 });
    await stage.last().fail('origin-unreachable');
    expect(stage.manager.get(never).state).toBe('error');
    const once = await stage.add({ maxTries: 1 });
    stage.last().storedBytes = 10;
    for (let i = 0; i < 5; i++) {
      await stage.last().fail('origin-unreachable');
      expect(stage.manager.get(once)).toMatchObject({ state: 'waiting', storedBytes: 10 });
      await stage.later(15 * MINUTE);
    }
  });

  test('with two slots, five dead links do not keep the good link behind them from starting', async () => {
    stage.manager.setLimits({ concurrent: 2 });
    const dead: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) {
      dead.push(await stage.add({ urls: [`http://dead${n}.example/x${n}.bin`] }));
    }
    const good = await stage.add({ urls: ['http://good.example/good.bin'] });
    const isGood = () => stage.manager.get(good).state === 'active';
    for (let tries = 0; !isGood() && tries < 5; tries++) {
      // Downloads that came due meanwhile queue up behind.
      stage.now += 6000;
      const run = stage.runs.find(({ context }) => !context.signal.aborted && !ended.has(context));
      if (run === undefined) break;
      ended.add(run.context);
      await run.fail('origin-refused');
    }
    expect(isGood()).toBe(true);
    expect(stage.manager.get(dead[0] as string)).toMatchObject({
      state: 'waiting',
      error: { code: 'origin-refused' },
    });
  });

  test('without any network is retried on the next network change, however often it failed', async () => {
    const gid = await stage.add({ maxTries: 1 });
    await stage.last().fail('network-away');
    expect(stage.manager.get(gid)).toMatchObject({ state: 'waiting', attempts: 1 });
    expect(stage.runs).toHaveLength(1);
    stage.changeNetwork?.();
    await stage.settled();
    expect(stage.runs).toHaveLength(2);
    expect(stage.manager.get(gid).state).toBe('active');
  });

  test('because its folder is a file fails, and does not continue under another name', async () => {
    writeFileSync(join(stage.folder, 'afile'), 'x');
    const gid = await stage.add({ dir: 'afile', maxTries: 1 });
    await new Promise<void>((resolve) => {
      const stop = stage.manager.listen(({ kind }) => {
        if (kind === 'failed') resolve(stop());
      });
      if (stage.manager.get(gid).state === 'error') resolve(stop());
    });
    expect(stage.manager.get(gid)).toMatchObject({
      state: 'error',
      error: { code: 'file-not-writable' },
      name: 'x.bin',
    });
  });

  test('because its name is taken continues under the next name', async () => {
    const gid = await stage.add();
    await stage.last().fail('file-exists', join(stage.folder, 'sent-by-server.tar.gz'));
    expect(stage.last().request.file).toBe('sent-by-server.tar.1.gz');
    await stage.last().complete();
    expect(stage.manager.get(gid).state).toBe('complete');
    expect(stage.moved).toEqual([]);
    const late = await stage.add();
    stage.last().begin();
    await stage.last().fail('file-exists', join(stage.folder, 'x.bin'));
    expect(stage.moved).toEqual([[join(stage.folder, 'x.bin'), join(stage.folder, 'x.1.bin')]]);
    await stage.last().complete();
    expect(stage.manager.get(late)).toMatchObject({ state: 'complete', name: 'x.1.bin' });
    const held = await stage.add();
    stage.last().begin();
    await stage.last().fail('file-in-use', join(stage.folder, 'x.bin'));
    expect(stage.manager.get(held).state).toBe('waiting');
    stage.manager.remover.end(held, false);
    const strict = await stage.add({ rename: false });
    await stage.last().fail('file-exists', join(stage.folder, 'x.bin'));
    expect(stage.manager.get(strict).state).toBe('error');
  });
});

describe('names', () => {
  test('of concurrent downloads are never the same', async () => {
    await stage.add();
    await stage.add({ urls: ['http://b.example/x.bin'] });
    await stage.add({ urls: ['http://c.example/x.bin'] });
    expect(stage.runs.map((run) => run.request.file)).toEqual([undefined, 'x.1.bin', 'x.2.bin']);
  });

  test('a paused download keeps its name', async () => {
    const first = await stage.add();
    stage.last().begin();
    stage.manager.line.pause(first);
    await stage.add({ urls: ['http://b.example/x.bin'] });
    expect(stage.last().request.file).toBe('x.1.bin');
    stage.manager.line.resume(first);
    await stage.settled();
    expect(stage.last().request.file).toBe('x.bin');
  });
});

describe('a name that another partial file has', () => {
  test.each([
    [{}, true],
    [{ file: 'mine.bin' }, false],
    [{ file: 'mine.bin', rename: true }, true],
    [{ rename: false }, false],
  ])('%j may be changed: %s', async (asked, expected) => {
    await stage.add(asked);
    expect(stage.last().request.rename).toBe(expected);
    stage.last().begin();
    stage.manager.line.pause(stage.manager.unfinished()[0]?.gid as string);
    await stage.settled();
    stage.manager.line.resume(stage.manager.unfinished()[0]?.gid as string);
    await stage.settled();
    // The partial file belongs to this download.
    expect(stage.last().request.rename).toBe(false);
  });
});
