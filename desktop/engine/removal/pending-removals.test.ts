import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FakeDaemon, LENGTH, until } from '../../testing/fake-daemon.ts';
import { DATA_SUFFIX } from '../files/partial-names.ts';
import { SettingStore } from '../store/small-stores.ts';

const DAY = 24 * 3600_000;
let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

const removing = (gids: readonly string[], more: object = {}) =>
  daemon.manager.remover.remove({
    gids,
    deletePartial: true,
    deleteFile: false,
    forget: false,
    now: false,
    ...more,
  });
const state = (gid: string) => daemon.manager.get(gid).state;
const undo = (id: string | undefined) => daemon.manager.remover.undo(id as string);

describe('undoing a removal', () => {
  test('puts downloads back at their places in the queue, with their progress', async () => {
    daemon.manager.setLimits({ concurrent: 1 });
    const { gid: active, run } = await daemon.run('one');
    run.storedBytes = 300;
    const [paused, second, third] = [
      daemon.add('two', { paused: true }),
      daemon.add('three'),
      daemon.add('four'),
    ];
    const removed = await removing([active, paused, second], { forget: true });
    expect(removed.gids).toEqual([active, paused, second]);
    expect(() => daemon.manager.get(paused)).toThrow(/no such download/);
    expect(await undo(removed.undo)).toEqual([active, paused, second]);
    expect(state(paused)).toBe('paused');
    expect(daemon.manager.get(active).storedBytes).toBe(300);
    const order = daemon.manager.unfinished().map(({ gid }) => gid);
    expect(order.filter((gid) => gid !== third)).toEqual([active, paused, second]);
    expect(daemon.removedPartials).toEqual([]);
  });

  test('brings a finished download back into the history, and keeps its file', async () => {
    const { gid, run } = await daemon.run('done');
    writeFileSync(run.path, 'x'.repeat(LENGTH));
    await run.complete();
    await until(() => state(gid) === 'complete');
    const { undo: id } = await removing([gid], { forget: true, deleteFile: true });
    expect(daemon.manager.store.history({}, { offset: 0, limit: 9 }).total).toBe(0);
    expect(await undo(id)).toEqual([gid]);
    expect(state(gid)).toBe('complete');
    expect(existsSync(run.path)).toBe(true);
  });

  test('works once, and also days later after a restart of the daemon', async () => {
    const { gid } = await daemon.run('one');
    const { undo: first } = await removing([gid], { forget: true });
    await undo(first);
    await expect(undo(first)).rejects.toThrow(/nothing to undo/);
    const { undo: second } = await removing([gid], { forget: true });
    await daemon.shut();
    daemon.now += 6 * DAY;
    daemon.open();
    expect(await undo(second)).toEqual([gid]);
    expect(['active', 'queued']).toContain(state(gid));
  });

  test('without an id brings back one removal at a time, the last one first', async () => {
    const gids = ['one', 'two', 'three'].map((name) => daemon.add(name, { paused: true }));
    for (const gid of gids) await removing([gid], { forget: true });
    for (const gid of gids.toReversed()) expect(await daemon.manager.remover.undo()).toEqual([gid]);
    await expect(daemon.manager.remover.undo()).rejects.toThrow(/nothing to undo/);
  });

  test('brings back a history that was cleared', async () => {
    const { gid, run } = await daemon.run('done');
    writeFileSync(run.path, 'x'.repeat(LENGTH));
    await run.complete();
    await until(() => state(gid) === 'complete');
    const { gids, undo: id } = daemon.manager.remover.forgetFinished(['complete']);
    expect(gids).toEqual([gid]);
    expect(await undo(id)).toEqual([gid]);
    expect(state(gid)).toBe('complete');
  });

  test('also happens when a removed download is retried', async () => {
    const { gid, run } = await daemon.run('one');
    run.storedBytes = 300;
    const { undo: id } = await removing([gid]);
    expect(state(gid)).toBe('removed');
    daemon.manager.line.retry(gid);
    await until(() => state(gid) !== 'removed');
    expect(daemon.manager.get(gid).storedBytes).toBe(300);
    await expect(undo(id)).rejects.toThrow(/nothing to undo/);
    expect(['active', 'queued']).toContain(state(gid));
  });
});

describe('the data of a removed download', () => {
  test('is deleted at once if the removal is for good', async () => {
    const { gid, run } = await daemon.run('one');
    expect(await removing([gid], { now: true })).toEqual({ gids: [gid] });
    await until(() => daemon.removedPartials.includes(run.path));
  });

  test('is moved out of the way, and back on undo', async () => {
    const { gid, run } = await daemon.run('one');
    const { undo: id } = await removing([gid], { forget: true });
    const kept = join(daemon.folder, '.millrace-trash', gid, basename(run.path));
    await until(() => daemon.movedPartials.length === 1);
    expect(daemon.movedPartials).toEqual([[run.path, kept]]);
    expect(await undo(id)).toEqual([gid]);
    expect(daemon.movedPartials[1]).toEqual([kept, run.path]);
    expect(daemon.removedPartials).toEqual([]);
  });

  test('comes back beside a file that has taken the name', async () => {
    const { gid, run } = await daemon.run('one');
    const { undo: id } = await removing([gid], { forget: true });
    await until(() => daemon.movedPartials.length === 1);
    writeFileSync(`${run.path}${DATA_SUFFIX}`, 'of another');
    expect(await undo(id)).toEqual([gid]);
    expect(daemon.manager.get(gid)).toMatchObject({
      name: 'x.1.bin',
      path: join(daemon.folder, 'x.1.bin'),
    });
  });

  test('is also kept for a finished download, until its days are over', async () => {
    const { gid, run } = await daemon.run('done');
    writeFileSync(run.path, 'x'.repeat(LENGTH));
    await run.complete();
    await until(() => state(gid) === 'complete');
    await removing([gid], { forget: true, deleteFile: true });
    const kept = join(daemon.folder, '.millrace-trash', gid, basename(run.path));
    await until(() => existsSync(kept));
    expect(existsSync(run.path)).toBe(false);
    daemon.now += 7 * DAY;
    daemon.manager.trash.sweep();
    await until(() => !daemon.manager.trash.has(gid));
    expect(existsSync(join(daemon.folder, '.millrace-trash'))).toBe(false);
  });

  test('goes with its entry, and other removals can still be undone', async () => {
    const [one, two] = [daemon.add('one', { paused: true }), daemon.add('two', { paused: true })];
    await removing([one, two], { forget: true });
    expect(await daemon.manager.trash.delete([one])).toEqual({ count: 1, bytes: 0 });
    expect(await daemon.manager.remover.undo()).toEqual([two]);
  });

  test('is not kept if the trash is switched off', async () => {
    const { settings } = daemon.manager;
    settings.app = { ...settings.app, trash: { days: 0, maxBytes: 0 } };
    const { gid, run } = await daemon.run('one');
    expect(await removing([gid], { forget: true })).toEqual({ gids: [gid] });
    await until(() => daemon.removedPartials.includes(run.path));
    expect(daemon.manager.trash.has(gid)).toBe(false);
  });

  test('is deleted at the next start if an earlier version left it pending', async () => {
    const path = join(daemon.folder, 'left.bin');
    const leftover = [{ path, kind: 'partial' }];
    new SettingStore(daemon.db).set('removals', leftover);
    await daemon.shut();
    daemon.open();
    await until(() => daemon.removedPartials.includes(path));
    expect(new SettingStore(daemon.db).get('removals')).toEqual([]);
  });

  test('stays if the same file was added again', async () => {
    const { gid, run } = await daemon.run('one');
    await removing([gid]);
    const again = await daemon.run('one');
    expect(again.run.path).toBe(run.path);
    again.run.storedBytes = LENGTH / 2;
    await until(() => daemon.manager.running(again.gid) !== undefined);
    expect(await daemon.manager.trash.delete([gid])).toMatchObject({ count: 1 });
    expect(daemon.removedPartials).toEqual([]);
  });

  test('another file that has taken the name is not deleted', async () => {
    const { gid, run } = await daemon.run('done');
    writeFileSync(run.path, 'x'.repeat(LENGTH));
    await run.complete();
    await until(() => state(gid) === 'complete');
    const removed = removing([gid], { deleteFile: true });
    // The trash entry says from now on which file was meant.
    await until(() => daemon.manager.trash.has(gid));
    writeFileSync(`${run.path}.new`, 'x'.repeat(LENGTH));
    renameSync(`${run.path}.new`, run.path);
    await removed;
    await daemon.shut();
    expect(existsSync(run.path)).toBe(true);
    daemon.open();
  });

  test('is deleted if the file is still the removed one', async () => {
    const { gid, run } = await daemon.run('done');
    writeFileSync(run.path, 'x'.repeat(LENGTH));
    await run.complete();
    await until(() => state(gid) === 'complete');
    await removing([gid], { deleteFile: true, now: true });
    expect(existsSync(run.path)).toBe(false);
    expect(state(gid)).toBe('complete');
  });
});
