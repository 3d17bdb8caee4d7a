import { link, open, readFile, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { formatEntry } from '@millrace/shared/download/journal/journal';
import { CONTENT, PartialFileStage } from '../../testing/partial-file-stage.ts';
import { segmentDigest } from './segment-digest.ts';

const stage = PartialFileStage.forEachTest();

/** Returns the journal's text, once it has a line for the byte before `end`. */
async function journalUpTo(end: number): Promise<string> {
  for (;;) {
    const text = await readFile(stage.journalPath, 'utf8');
    if (text.includes(`,${end},"`)) return text;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('PartialFile and the end of the process', () => {
  test('stored bytes survive it without a flush', async () => {
    const file = await stage.start();
    await file.store(0, CONTENT.subarray(0, 100));
    await file.store(300, CONTENT.subarray(300, 350));
    await journalUpTo(350);
    const killed = await stage.crash();
    const after = await stage.start({ path: killed });
    expect(stage.stored(after)).toEqual([
      [0, 100],
      [300, 350],
    ]);
    expect(after.damagedBytes).toBe(0);
  });

  test('flushed bytes that have changed since are counted as damaged', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100], [100, 200]);
    await stage.end(before);
    const data = await readFile(stage.dataPath);
    data.writeUInt8(data.readUInt8(150) ^ 1, 150);
    await writeFile(stage.dataPath, data);
    const after = await stage.start();
    expect([stage.stored(after), after.damagedBytes]).toEqual([[[0, 100]], 100]);
  });

  test('small segments become one line of the journal', async () => {
    const before = await stage.start();
    for (let at = 0; at < 1000; at += 10) await before.store(at, CONTENT.subarray(at, at + 10));
    await stage.end(before);
    const after = await stage.start();
    expect(stage.stored(after)).toEqual([[0, 1000]]);
    await stage.end(after);
    const text = await readFile(stage.journalPath, 'utf8');
    expect(text.split('\n').filter((line) => /^\[\d/.test(line))).toHaveLength(1);
  });

  test('journal lines that cover several segments, as other versions may write, are understood', async () => {
    const length = 3 * 1024 * 1024;
    const content = Buffer.alloc(length, 'x');
    await (await stage.start({ length })).close();
    await writeFile(stage.dataPath, content);
    const digest = segmentDigest(content.subarray(10));
    const line = formatEntry({ range: { start: 10, end: length }, digest });
    await writeFile(stage.journalPath, line, { flag: 'a' });
    await stage.end(await stage.start({ length }));
    expect(stage.stored(await stage.start({ length }))).toEqual([[10, length]]);
  });

  test('after a crash before the completion is recorded, the next run recognises the file', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 1000]);
    await before.finish(1000);
    await expect(stage.start()).rejects.toMatchObject({ code: 'file-in-use' });
    await before.settle(false);
    expect(await stage.names()).toEqual(['file.iso', 'file.iso.millrace-journal']);
    const after = await stage.start();
    expect(stage.stored(after)).toEqual([[0, 1000]]);
    await after.finish(1000);
    await after.settle(true);
    expect(await stage.names()).toEqual(['file.iso']);
    expect((await readFile(stage.path)).equals(CONTENT)).toBe(true);
  });

  test('a repair does not take the file that it repairs for its own, though a crash left its journal', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 1000]);
    await before.finish(1000);
    await before.settle(false);
    const repair = await stage.start({ overwrite: true, repairs: true });
    expect(stage.stored(repair)).toEqual([]);
    expect((await readFile(stage.path)).equals(CONTENT)).toBe(true);
    await stage.store(repair, [0, 100]);
    await stage.end(repair);
    // The bytes of the repair itself survive the next crash.
    const after = await stage.start({ overwrite: true, repairs: true });
    expect(stage.stored(after)).toEqual([[0, 100]]);
  });

  test('a crash while a complete file has two names costs nothing', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 1000]);
    await stage.end(before);
    await link(stage.dataPath, stage.path);
    const after = await stage.start();
    expect(stage.stored(after)).toEqual([[0, 1000]]);
    await after.finish(1000);
    await after.settle(true);
    expect(await stage.names()).toEqual(['file.iso']);
    expect((await readFile(stage.path)).equals(CONTENT)).toBe(true);
  });

  test.each([[false], [true]])(
    'a crash before the journal is deleted costs nothing (overwrite: %s)',
    async (overwrite) => {
      const before = await stage.start();
      await stage.store(before, [0, 1000]);
      await stage.end(before);
      await rename(stage.dataPath, stage.path);
      const after = await stage.start({ overwrite });
      expect(stage.stored(after)).toEqual([[0, 1000]]);
      await after.finish(1000);
      await after.settle(true);
      expect(await stage.names()).toEqual(['file.iso']);
    },
  );

  test.each([
    ['another', Buffer.from('precious')],
    ['one with a wrong byte', Buffer.from(CONTENT).fill(0, 999)],
  ])('a complete file that is %s is not ours', async (_, content) => {
    const before = await stage.start();
    await stage.store(before, [0, 1000]);
    await stage.end(before);
    await rm(stage.dataPath);
    await writeFile(stage.path, content);
    await expect(stage.start()).rejects.toMatchObject({ code: 'file-exists' });
    expect((await readFile(stage.path)).equals(content)).toBe(true);
  });

  test('verification reports its progress, and can be aborted', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100], [200, 250], [500, 1000]);
    await stage.end(before);
    const told: [number, number][] = [];
    const after = await stage.start({ onVerifyProgress: (done, all) => told.push([done, all]) });
    expect(told).toHaveLength(3);
    expect(told.at(-1)).toEqual([650, 650]);
    await stage.end(after);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(stage.start({ signal })).rejects.toThrow('enough');
    expect(stage.stored(await stage.start())).toHaveLength(3);
  });
});

describe('PartialFile and other programs', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['deleted', () => rm(stage.dataPath)],
    ['truncated', () => truncate(stage.dataPath, 50)],
    ['extended', () => truncate(stage.dataPath, 5000)],
    [
      'replaced',
      async () => {
        await writeFile(join(stage.dir, 'other'), Buffer.alloc(1000));
        await rename(join(stage.dir, 'other'), stage.dataPath);
      },
    ],
  ])('a file that is %s meanwhile is not resumed', async (what, change) => {
    const file = await stage.start();
    await stage.store(file, [0, 500]);
    await change();
    await file.store(500, CONTENT.subarray(500, 600));
    await expect(file.flush()).rejects.toMatchObject({ code: 'file-changed' });
    await expect(file.store(0, CONTENT)).rejects.toMatchObject({ code: 'file-changed' });
    await expect(file.finish(1000)).rejects.toMatchObject({ code: 'file-changed' });
    expect(await stage.names()).not.toContain('file.iso');
    await file.discard();
    // A file of another program is not deleted.
    const left = (await stage.names()).includes(basename(stage.dataPath));
    expect(left).toBe(what !== 'deleted');
  });

  test('after another program truncated the file, only lost bytes are fetched again', async () => {
    const file = await stage.start();
    await stage.store(file, [0, 300], [500, 1000]);
    await truncate(stage.dataPath, 900);
    await expect(file.finish(1000)).rejects.toMatchObject({ code: 'file-changed' });
    await stage.end(file);
    const after = await stage.start();
    expect(stage.stored(after)).toEqual([[0, 300]]);
    await stage.store(after, [300, 1000]);
    await stage.completes(after);
  });

  test('bytes that another program has changed never get the final name', async () => {
    const lost: ByteRange[] = [];
    const file = await stage.start({ onLost: (ranges) => lost.push(...ranges) });
    await stage.store(file, [0, 400], [400, 700], [700, 1000]);
    const other = await open(stage.dataPath, 'r+');
    await other.write('wrong', 500);
    await other.utimes(1, 1);
    await other.close();
    await expect(file.finish(1000)).rejects.toMatchObject({ code: 'file-changed' });
    // The three ranges had been joined into one.
    expect(lost).toEqual([{ start: 0, end: 1000 }]);
    expect(await stage.names()).not.toContain('file.iso');
    await stage.store(file, [0, 1000]);
    await stage.completes(file);
  });

  test('a file whose times alone were changed is whole', async () => {
    const file = await stage.start();
    await stage.store(file, [0, 1000]);
    await utimes(stage.dataPath, 1, 1);
    await stage.completes(file);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['deleted', () => rm(stage.journalPath)],
    ['truncated', () => truncate(stage.journalPath, 5)],
    ['replaced', () => rm(stage.journalPath).then(() => writeFile(stage.journalPath, 'x'))],
  ])('a journal that is %s meanwhile is written again', async (_, change) => {
    const file = await stage.start();
    await stage.store(file, [0, 100]);
    await change();
    await stage.store(file, [200, 300]);
    await stage.end(file);
    expect(stage.stored(await stage.start())).toEqual([
      [0, 100],
      [200, 300],
    ]);
  });
});

describe('PartialFile and wrong bytes', () => {
  test('forgotten bytes stay gone after a restart, and the bytes beside them stay', async () => {
    const lost: ByteRange[] = [];
    const file = await stage.start({ onLost: (ranges) => lost.push(...ranges) });
    await stage.store(file, [0, 1000]);
    await file.forget({ start: 300, end: 500 });
    const left = [
      [0, 300],
      [500, 1000],
    ];
    expect([stage.stored(file), file.removals, lost]).toEqual([
      left,
      1,
      [{ start: 300, end: 500 }],
    ]);
    await stage.end(file);
    const after = await stage.start();
    expect(stage.stored(after)).toEqual(left);
    await stage.store(after, [300, 500]);
    await stage.completes(after);
  });

  test('the first copy of bytes stays, whatever the second copy is', async () => {
    const file = await stage.start();
    await stage.store(file, [100, 200]);
    await file.store(0, Buffer.from(CONTENT).fill(0, 100, 200));
    await stage.completes(file);
  });

  test('one of several copies that arrive at the same time is kept', async () => {
    const file = await stage.start();
    const copies = Array.from({ length: 8 }, (_, i) => Buffer.alloc(1000, i + 1));
    await Promise.all(copies.map((copy, i) => file.store(i * 10, copy.subarray(i * 10))));
    await stage.end(file);
    const after = await stage.start();
    expect([stage.stored(after), after.damagedBytes]).toEqual([[[0, 1000]], 0]);
  });
});
