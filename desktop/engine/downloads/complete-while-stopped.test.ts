/** Downloads that receive their last byte while they are being stopped. */

import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FakeDaemon, LENGTH, until } from '../../testing/fake-daemon.ts';

let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

const state = (gid: string) => daemon.manager.get(gid).state;

/** When the run completes: before `work`, unnoticed by the daemon, or after it. */
const WHEN = ['before', 'after'] as const;

async function completing<T>(when: (typeof WHEN)[number], work: (gid: string) => T) {
  const { gid, run } = await daemon.run('one');
  writeFileSync(run.path, 'x'.repeat(LENGTH));
  run.lingers = true;
  if (when === 'before') void run.complete();
  const done = work(gid);
  if (when === 'after') {
    // Waits until the run has been told to stop.
    await until(() => daemon.manager.running(gid) === undefined);
    await run.complete();
  }
  return { gid, path: run.path, done: await done };
}

const remove = (gid: string, more: object) =>
  daemon.manager.remover.remove({
    gids: [gid],
    deletePartial: true,
    deleteFile: false,
    forget: true,
    now: true,
    ...more,
  });

describe.each(WHEN)('a download that completes while it is removed (%s the removal)', (when) => {
  test.each([
    ['out of the list', {}],
    ['out of the list, with its file', { deleteFile: true }],
    ['and stays listed', { forget: false }],
  ])('leaves no file: %s', async (_what, more) => {
    const { gid, path, done } = await completing(when, (one) => remove(one, more));
    expect(done.gids).toEqual([gid]);
    await until(() => !existsSync(path));
    if ('forget' in more) expect(state(gid)).toBe(when === 'before' ? 'complete' : 'removed');
    else expect(() => daemon.manager.get(gid)).toThrow(/no such download/);
  });

  test('leaves no file if the removal deletes its partial file', async () => {
    const { gid, path } = await completing(when, (one) => daemon.manager.remover.end(one, true));
    await until(() => !existsSync(path));
    expect(state(gid)).toBe('removed');
  });

  test('leaves no file once the removal cannot be undone', async () => {
    const { path } = await completing(when, (one) => remove(one, { now: false }));
    await daemon.shut();
    expect(existsSync(path)).toBe(false);
    daemon.open();
  });

  test('is back as complete when the removal is undone', async () => {
    const { gid, path, done } = await completing(when, (one) => remove(one, { now: false }));
    expect(await daemon.manager.remover.undo(done.undo as string)).toEqual([gid]);
    expect(daemon.manager.get(gid)).toMatchObject({
      state: 'complete',
      path,
      length: LENGTH,
      storedBytes: LENGTH,
      finishedAt: daemon.now,
    });
    expect(existsSync(path)).toBe(true);
    expect(daemon.runs).toHaveLength(1);
  });

  test('is complete if none of it was to be deleted', async () => {
    const { gid, path } = await completing(when, (one) => daemon.manager.remover.end(one, false));
    await until(() => state(gid) === 'complete');
    expect(daemon.manager.get(gid)).toMatchObject({ path, storedBytes: LENGTH });
    expect(existsSync(path)).toBe(true);
  });
});

test.each(WHEN)(
  'a download that completes %s it is paused and resumed is not fetched again',
  async (when) => {
    const { gid, path } = await completing(when, (one) => {
      expect(daemon.manager.line.pause(one)).toBe(true);
      expect(daemon.manager.line.resume(one)).toBe(true);
      // Pauses and resumes once more, before the run has ended.
      expect(daemon.manager.line.pause(one)).toBe(true);
      expect(daemon.manager.line.resume(one)).toBe(true);
    });
    await until(() => state(gid) === 'complete');
    // Waits for a second run, in case one begins.
    await daemon.manager.queueRunner.begun(gid);
    expect(daemon.runs).toHaveLength(1);
    expect(daemon.manager.get(gid)).toMatchObject({ state: 'complete', path });
  },
);
