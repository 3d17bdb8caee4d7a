import { createHash } from 'node:crypto';
import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { formatEntry } from '@millrace/shared/download/journal/journal';
import { CONTENT, type Part, PartialFileStage } from '../../testing/partial-file-stage.ts';
import { storedDigest } from '../hash/stored-digest.ts';
import { segmentDigest } from './segment-digest.ts';

const stage = PartialFileStage.forEachTest();

describe('PartialFile', () => {
  test('a complete file has its name, its bytes, and nothing beside it', async () => {
    const file = await stage.start();
    expect([file.path, stage.stored(file), file.startedOver]).toEqual([stage.path, [], false]);
    await stage.store(file, [500, 1000], [0, 500]);
    expect(stage.stored(file)).toEqual([[0, 1000]]);
    expect(await stage.names()).not.toContain('file.iso');
    await file.finish(1000);
    await file.settle(true);
    expect(await stage.names()).toEqual(['file.iso']);
    expect((await readFile(stage.path)).equals(CONTENT)).toBe(true);
  });

  test('a file that lacks bytes gets no final name, and keeps what it has', async () => {
    const file = await stage.start();
    await stage.store(file, [0, 400], [401, 1000]);
    await expect(file.finish(1000)).rejects.toMatchObject({ code: 'internal' });
    expect(await stage.names()).not.toContain('file.iso');
    await stage.store(file, [400, 401]);
    await stage.completes(file);
  });

  test('a later run verifies the stored bytes and continues with them', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100], [300, 400]);
    await stage.end(before);
    let verified = 0;
    const after = await stage.start({ onVerify: () => verified++ });
    expect(stage.stored(after)).toEqual([
      [0, 100],
      [300, 400],
    ]);
    expect([after.startedOver, verified]).toEqual([false, 1]);
    await stage.store(after, [100, 300], [400, 1000]);
    await stage.completes(after);
  });

  test('a new file has nothing to check', async () => {
    let verified = 0;
    const file = await stage.start({ onVerify: () => verified++ });
    await stage.end(file);
    await stage.start({ onVerify: () => verified++ });
    expect(verified).toBe(0);
  });

  test('a damaged range is fetched again, and the others are not', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100], [100, 200], [200, 300]);
    await stage.end(before);
    const data = await readFile(stage.dataPath);
    data.writeUInt8(data.readUInt8(150) ^ 1, 150);
    await writeFile(stage.dataPath, data);
    const after = await stage.start();
    expect(stage.stored(after)).toEqual([
      [0, 100],
      [200, 300],
    ]);
  });

  test('bytes lost at the end of the data are fetched again', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100], [100, 200]);
    await stage.end(before);
    await truncate(stage.dataPath, 199);
    expect(stage.stored(await stage.start())).toEqual([[0, 100]]);
  });

  test('a journal line whose digest does not match the data is not believed', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100]);
    await stage.end(before);
    const digest = segmentDigest(Buffer.from('something else'));
    const lie = formatEntry({ range: { start: 100, end: 200 }, digest });
    await writeFile(stage.journalPath, lie, { flag: 'a' });
    expect(stage.stored(await stage.start())).toEqual([[0, 100]]);
  });

  test('provisional bytes count for this run only, until they are confirmed', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100]);
    await before.store(100, CONTENT.subarray(100, 300), true);
    expect(stage.stored(before)).toEqual([[0, 300]]);
    await before.confirm({ start: 0, end: 200 });
    await stage.end(before);
    expect(stage.stored(await stage.start())).toEqual([[0, 200]]);
  });

  test('confirming does not cover bytes that were forgotten meanwhile', async () => {
    const before = await stage.start();
    await before.store(0, CONTENT.subarray(0, 300), true);
    await before.forget({ start: 50, end: 100 });
    await before.confirm({ start: 0, end: 300 });
    await stage.end(before);
    expect(stage.stored(await stage.start())).toEqual([
      [0, 50],
      [100, 300],
    ]);
  });

  test('a provisional copy of stored bytes does not make them provisional', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100]);
    await before.store(50, CONTENT.subarray(50, 150), true);
    await stage.end(before);
    expect(stage.stored(await stage.start())).toEqual([[0, 100]]);
  });

  test('without its journal none of the data is believed', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 1000]);
    await stage.end(before);
    await rm(stage.journalPath);
    const after = await stage.start();
    expect([stage.stored(after), after.startedOver]).toEqual([[], true]);
  });

  test('without its data nothing in the journal is believed', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 1000]);
    await stage.end(before);
    await rm(stage.dataPath);
    expect(stage.stored(await stage.start())).toEqual([]);
  });

  const dated = { lastModified: 1000, lastModifiedIsStrong: true };
  test.each<[string, Part, Part]>([
    ['another tag', {}, { validators: { etag: '"b"' } }],
    ['another length', {}, { length: 1001 }],
    ['no tag any more', {}, { validators: {} }],
    ['a weak tag now', {}, { validators: { weakEtag: 'W/"a"' } }],
    ['another date', { validators: dated }, { validators: { ...dated, lastModified: 2000 } }],
    ['a date that proves nothing', { validators: dated }, { validators: { lastModified: 1000 } }],
    ['no validator at all', { validators: {} }, { validators: {} }],
  ])('of a file with %s everything is fetched again', async (_, was, is) => {
    const before = await stage.start(was);
    await stage.store(before, [0, 100]);
    await stage.end(before);
    const after = await stage.start(is);
    expect([stage.stored(after), after.startedOver]).toEqual([[], true]);
    await stage.store(after, [200, 300]);
    await stage.end(after);
    const data = await readFile(stage.dataPath);
    expect(data.subarray(0, 100).equals(Buffer.alloc(100))).toBe(true);
  });

  test('a journal torn at any byte gives the lines before that byte, and never a wrong byte', async () => {
    const before = await stage.start();
    await stage.store(before, [0, 100], [500, 700], [100, 120]);
    await stage.end(before);
    const journal = await readFile(stage.journalPath);
    const data = await readFile(stage.dataPath);
    const first = journal.indexOf('\n');
    for (let at = 0; at <= journal.length; at++) {
      await writeFile(stage.journalPath, journal.subarray(0, at));
      await writeFile(stage.dataPath, data);
      const after = await stage.start();
      const lines =
        journal
          .subarray(first + 1, at)
          .toString()
          .match(/^\[\d.*\n/gm)?.length ?? 0;
      const bytes = [0, 100, 300, 320][lines];
      expect([at, after.stored.bytes]).toEqual([at, at <= first ? 0 : bytes]);
      const now = await readFile(stage.dataPath);
      for (const { start: s, end: e } of after.stored.ranges) {
        expect(now.subarray(s, e).equals(CONTENT.subarray(s, e))).toBe(true);
      }
      await stage.end(after);
    }
  });

  test('flushed bytes survive a crash at any later moment', async () => {
    const file = await stage.start();
    await stage.store(file, [0, 100]);
    await file.store(100, CONTENT.subarray(100, 200));
    const crashed = await stage.crash();
    const after = await stage.start({ path: crashed });
    expect(after.stored.covers({ start: 0, end: 100 })).toBe(true);
    const data = await readFile(after.dataPath);
    for (const { start: s, end: e } of after.stored.ranges) {
      expect(data.subarray(s, e).equals(CONTENT.subarray(s, e))).toBe(true);
    }
  });

  test('an existing file of that name is never replaced, unless the caller asks for it', async () => {
    await writeFile(stage.path, 'precious');
    await expect(stage.start()).rejects.toMatchObject({ code: 'file-exists' });
    expect(await stage.names()).toEqual(['file.iso']);
    const file = await stage.start({ overwrite: true });
    expect(await readFile(stage.path, 'utf8')).toBe('precious');
    await stage.store(file, [0, 1000]);
    await stage.completes(file);
    expect(await stage.names()).toEqual(['file.iso']);
  });

  test('a file created meanwhile is not replaced, and no byte is lost', async () => {
    const file = await stage.start();
    await stage.store(file, [0, 1000]);
    await writeFile(stage.path, 'precious');
    await expect(file.finish(1000)).rejects.toMatchObject({ code: 'file-exists' });
    expect(await readFile(stage.path, 'utf8')).toBe('precious');
    await stage.end(file);
    await rm(stage.path);
    expect(stage.stored(await stage.start())).toEqual([[0, 1000]]);
  });

  test('two downloads do not write to one file', async () => {
    await writeFile(`${stage.path}.millrace-lock`, `${process.ppid}\n`);
    await expect(stage.start()).rejects.toMatchObject({ code: 'file-in-use' });
    expect(await stage.names()).toEqual(['file.iso.millrace-lock']);
  });

  test('the next run deletes a lock that a killed process left beside a complete file', async () => {
    await writeFile(stage.path, 'complete');
    await writeFile(`${stage.path}.millrace-lock`, `${2 ** 22 + 1}\n`);
    await expect(stage.start()).rejects.toMatchObject({ code: 'file-exists' });
    expect(await stage.names()).toEqual(['file.iso']);
  });

  test('a folder that does not exist is reported as such', async () => {
    await expect(stage.start({ path: join(stage.dir, 'missing', 'f') })).rejects.toMatchObject({
      code: 'file-not-writable',
    });
  });

  test('a file of unknown length cannot be resumed, and leaves nothing behind', async () => {
    const file = await stage.start({ length: undefined });
    await stage.store(file, [0, 700]);
    await file.leave();
    expect(await stage.names()).toEqual([]);
    const again = await stage.start({ length: undefined });
    await stage.store(again, [0, 700]);
    await again.finish(700);
    await again.settle(true);
    expect((await readFile(stage.path)).equals(CONTENT.subarray(0, 700))).toBe(true);
    expect(await stage.names()).toEqual(['file.iso']);
  });

  test('a file that turns out to be shorter is cut to its length', async () => {
    const file = await stage.start({ length: undefined });
    await stage.store(file, [0, 700]);
    await file.finish(600);
    await file.settle(true);
    expect((await readFile(stage.path)).equals(CONTENT.subarray(0, 600))).toBe(true);
  });

  test('leaving keeps resumable bytes, discarding keeps nothing', async () => {
    const file = await stage.start();
    await stage.store(file, [0, 100]);
    await file.leave();
    expect(await stage.names()).toEqual([basename(stage.journalPath), basename(stage.dataPath)]);
    await (await stage.start()).discard();
    expect(await stage.names()).toEqual([]);
  });

  test('starting over forgets everything, even after a restart', async () => {
    const file = await stage.start();
    await stage.store(file, [0, 1000]);
    await file.startOver();
    expect(stage.stored(file)).toEqual([]);
    await stage.store(file, [0, 50]);
    await stage.end(file);
    expect(stage.stored(await stage.start())).toEqual([[0, 50]]);
  });

  test('bytes count as stored once they are written, and closing flushes them to the disk', async () => {
    const file = await stage.start();
    const writing = file.store(0, CONTENT);
    expect(stage.stored(file)).toEqual([]);
    await writing;
    expect(stage.stored(file)).toEqual([[0, 1000]]);
    await stage.end(file);
    expect(stage.stored(await stage.start())).toEqual([[0, 1000]]);
  });

  test.each(['sha256', 'md5'])('the %s digest covers the whole file', async (algorithm) => {
    const file = await stage.start();
    await stage.store(file, [0, 1000]);
    expect(await storedDigest(file, algorithm, 1000)).toBe(
      createHash(algorithm).update(CONTENT).digest('hex'),
    );
    await expect(storedDigest(file, algorithm, 1001)).rejects.toMatchObject({
      code: 'file-not-writable',
    });
  });
});
