import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FakeDaemon, LENGTH, until } from '../../testing/fake-daemon.ts';
import { SettingStore } from '../store/small-stores.ts';

const LATER = 60_000;
let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

const removing = (gids: readonly string[], more: object = {}) =>
  daemon.manager.removeAll({
    gids,
    deletePartial: true,
    deleteFile: false,
    forget: false,
    undoMs: LATER,
    ...more,
  });
const state = (gid: string) => daemon.manager.get(gid).state;
const undo = (id: string | undefined) => daemon.manager.undoRemove(id as string);

describe('undoing a removal', () => {
  test('puts a download back where it was in the queue, with what it had', async () => {
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

  test('brings a finished one back into the history, and its file stays', async () => {
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

  test('works once, and not after the daemon has ended', async () => {
    const { gid } = await daemon.run('one');
    const { undo: first } = await removing([gid]);
    await undo(first);
    await expect(undo(first)).rejects.toThrow(/too late/);
    const { undo: second } = await removing([gid]);
    await daemon.shut();
    daemon.open();
    await expect(undo(second)).rejects.toThrow(/too late/);
    expect(state(gid)).toBe('removed');
  });

  test('leaves alone what has been taken up again by other means', async () => {
    const { gid } = await daemon.run('one');
    const { undo: id } = await removing([gid]);
    daemon.manager.retry(gid);
    expect(await undo(id)).toEqual([]);
    expect(['active', 'queued']).toContain(state(gid));
  });
});

describe('when there is no time left for undoing', () => {
  test('partial files are deleted, at once if nothing can be undone', async () => {
    const { gid, run } = await daemon.run('one');
    expect(await removing([gid], { undoMs: 0 })).toEqual({ gids: [gid] });
    await until(() => daemon.removedPartials.includes(run.path));
  });

  test('they are deleted, also when the daemon ends before', async () => {
    const { gid, run } = await daemon.run('one');
    await removing([gid]);
    expect(daemon.removedPartials).toEqual([]);
    await daemon.shut();
    expect(daemon.removedPartials).toEqual([run.path]);
    daemon.open();
  });

  test('what a crash has left is deleted at the next start', async () => {
    const path = join(daemon.folder, 'left.bin');
    const leftover = [{ path, kind: 'partial' }];
    new SettingStore(daemon.db).set('removals', leftover);
    await daemon.shut();
    daemon.open();
    await until(() => daemon.removedPartials.includes(path));
    expect(new SettingStore(daemon.db).get('removals')).toEqual([]);
  });

  test('what has been added again under the same name keeps its bytes', async () => {
    const { gid, run } = await daemon.run('one');
    await removing([gid]);
    const again = await daemon.run('one');
    expect(again.run.path).toBe(run.path);
    again.run.storedBytes = LENGTH / 2;
    // More removals than are kept: the first is done with.
    for (let i = 0; i < 50; i++) await removing([daemon.add(`n${i}`, { paused: true })]);
    await until(() => daemon.manager.running(again.gid) !== undefined);
    expect(daemon.removedPartials).toEqual([]);
  });

  test('another file that has taken the name is not deleted', async () => {
    const { gid, run } = await daemon.run('done');
    writeFileSync(run.path, 'x'.repeat(LENGTH));
    await run.complete();
    await until(() => state(gid) === 'complete');
    await removing([gid], { deleteFile: true });
    writeFileSync(`${run.path}.new`, 'other');
    renameSync(`${run.path}.new`, run.path);
    await daemon.shut();
    expect(existsSync(run.path)).toBe(true);
    daemon.open();
  });

  test('the file is deleted if it is still the one', async () => {
    const { gid, run } = await daemon.run('done');
    writeFileSync(run.path, 'x'.repeat(LENGTH));
    await run.complete();
    await until(() => state(gid) === 'complete');
    await removing([gid], { deleteFile: true, undoMs: 0 });
    expect(existsSync(run.path)).toBe(false);
    expect(state(gid)).toBe('complete');
  });
});
