/** Downloads that are stopped or removed, daemons that stop, and a disk that is full. */

import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManagerStage } from '../../testing/manager-stage.ts';

let stage: ManagerStage;

beforeEach(() => {
  stage = new ManagerStage();
});
afterEach(() => stage.clear());

describe('stopping', () => {
  test('a resumed download waits for the end of its earlier run', async () => {
    const gid = await stage.add();
    stage.last().lingers = true;
    stage.manager.line.pause(gid);
    expect(stage.manager.get(gid).state).toBe('paused');
    expect(stage.manager.running(gid)).toBeUndefined();
    stage.manager.line.resume(gid);
    await stage.settled();
    expect(stage.runs).toHaveLength(1);
    stage.last().lingers = false;
    await stage.last().fail('interrupted');
    expect(stage.runs).toHaveLength(2);
    await stage.last().complete();
    expect(stage.manager.get(gid).state).toBe('complete');
    expect(stage.events).toEqual(['started', 'paused', 'started', 'completed']);
  });

  test('a removed download loses its partial file once its run has ended', async () => {
    const gid = await stage.add();
    stage.last().begin();
    stage.last().lingers = true;
    expect(stage.manager.remover.end(gid, true)).toBe(true);
    expect(stage.manager.remover.end(gid, true)).toBe(false);
    expect(stage.removed).toEqual([]);
    await stage.last().fail('interrupted');
    expect(stage.removed).toEqual([join(stage.folder, 'x.bin')]);
    expect(stage.manager.get(gid).state).toBe('removed');
  });

  test.each([false, true])(
    'a download removed before its name is reported loses its partial file (paused: %s)',
    async (paused) => {
      const gid = await stage.add();
      stage.last().hasFile = true;
      if (paused) {
        stage.manager.line.pause(gid);
        await stage.settled();
        expect(stage.manager.get(gid).path).toBe(join(stage.folder, 'x.bin'));
      }
      stage.manager.remover.end(gid, true);
      await stage.settled();
      expect(stage.removed).toEqual([join(stage.folder, 'x.bin')]);
    },
  );

  test('a download that never began has no file to delete', async () => {
    stage.manager.setLimits({ concurrent: 1 });
    await stage.add();
    const second = await stage.add({ urls: ['http://a.example/y.bin'] });
    stage.manager.remover.end(second, true);
    await stage.settled();
    expect(stage.removed).toEqual([]);
  });

  test('deleting the partial file of a failed download spares one that another download continues', async () => {
    const first = await stage.add();
    stage.last().begin();
    await stage.last().fail('origin-gone');
    const second = await stage.add();
    stage.last().begin();
    expect(stage.manager.remover.deleteLeft(first)).toBe(true);
    await stage.settled();
    expect(stage.removed).toEqual([]);
    await stage.last().fail('origin-gone');
    expect(stage.manager.remover.deleteLeft(second)).toBe(true);
    await stage.settled();
    expect(stage.removed).toEqual([join(stage.folder, 'x.bin')]);
    expect(stage.manager.get(second)).toMatchObject({
      state: 'error',
      path: undefined,
      storedBytes: 0,
    });
  });

  test('a retry waits until the earlier partial file is deleted', async () => {
    const gid = await stage.add();
    stage.last().begin();
    const { promise, resolve } = Promise.withResolvers<void>();
    stage.deletion = promise;
    stage.manager.remover.end(gid, true);
    expect(stage.manager.line.retry(gid)).toBe(true);
    for (let i = 0; i < 20; i++) await new Promise((next) => setImmediate(next));
    expect(stage.runs).toHaveLength(1);
    resolve();
    await stage.settled();
    expect(stage.removed).toEqual([join(stage.folder, 'x.bin')]);
    expect(stage.runs).toHaveLength(2);
  });

  test('stopping the daemon does not end the download', async () => {
    const gid = await stage.add();
    stage.last().begin();
    stage.last().storedBytes = 40;
    await stage.shut();
    stage.open();
    await stage.settled();
    expect(stage.manager.get(gid)).toMatchObject({ state: 'active', storedBytes: 40 });
    expect(stage.runs).toHaveLength(1);
  });
});

describe('a full disk under the list', () => {
  const pages = (count: number) => stage.db.exec(`PRAGMA max_page_count = ${count}`);

  /** Fills the database up to its last byte. */
  function fill(): void {
    pages(Number(stage.db.prepare('PRAGMA page_count').get()?.page_count));
    for (let bytes = 8192; bytes > 0; bytes = Math.floor(bytes / 2)) {
      for (let full = false; !full; ) {
        try {
          stage.db
            .prepare(
              'INSERT INTO settings VALUES (hex(randomblob(8)), substr(hex(zeroblob(8192)), 1, ?))',
            )
            .run(bytes);
        } catch {
          full = true;
        }
      }
    }
  }

  test('ends neither downloads nor the daemon, and their outcomes are stored later', async () => {
    const gid = await stage.add();
    fill();
    // If one download cannot be stored, none of the same call is added.
    const many = Array.from({ length: 200 }, (_, i) => ({ urls: [`http://c.example/${i}`] }));
    expect(() => stage.manager.addAll(many)).toThrow(/disk is full|room/i);
    expect(stage.manager.unfinished().map((one) => one.gid)).toEqual([gid]);
    stage.last().begin();
    await stage.last().fail('origin-gone', 'x'.repeat(20_000));
    expect(stage.manager.get(gid)).toMatchObject({
      state: 'error',
      error: { code: 'origin-gone' },
    });
    pages(100_000);
    await stage.shut();
    stage.open();
    expect(stage.manager.get(gid)).toMatchObject({
      state: 'error',
      error: { code: 'origin-gone' },
    });
  });
});
