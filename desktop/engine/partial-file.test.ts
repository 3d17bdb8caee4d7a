import { createHash } from 'node:crypto';
import {
  cp,
  link,
  mkdtemp,
  open as openFile,
  readdir,
  readFile,
  rename,
  rm,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { formatEntry } from '@millrace/shared/download/journal';
import type { Validators } from '@millrace/shared/http/validators';
import {
  DATA_SUFFIX,
  JOURNAL_SUFFIX,
  PartialFile,
  type PartialFileOptions,
} from './partial-file.ts';
import { segmentDigest } from './segment-digest.ts';

const CONTENT = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 31) & 0xff));
const VERSION: Validators = { etag: '"a"' };

let dir = '';
let path = '';
const open: PartialFile[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
  path = join(dir, 'file.iso');
});
afterEach(async () => {
  for (const file of open.splice(0)) await file.close();
  await rm(dir, { recursive: true });
});

type Part = Partial<PartialFileOptions> & { validators?: Validators; length?: number | undefined };

async function start(part: Part = {}): Promise<PartialFile> {
  const { validators = VERSION, ...options } = part;
  const length = 'length' in part ? part.length : CONTENT.length;
  const header = { url: 'https://example.com/f', length, validators };
  const file = await PartialFile.open({ path, overwrite: false, header, ...options });
  open.push(file);
  return file;
}

/** Ends the use of a file as the end of the process would, once everything is on disk. */
async function end(file: PartialFile): Promise<void> {
  await file.close();
  open.splice(open.indexOf(file), 1);
}

async function store(file: PartialFile, ...ranges: [number, number][]): Promise<void> {
  for (const [from, to] of ranges) {
    await file.store(from, CONTENT.subarray(from, to));
    await file.flush();
  }
}

const stored = (file: PartialFile) => file.stored.ranges.map(({ start: s, end: e }) => [s, e]);
const names = async () => (await readdir(dir)).sort();
const refused = (code: string) => ({ code });

describe('PartialFile', () => {
  test('a file that is complete has its name, its bytes, and nothing beside it', async () => {
    const file = await start();
    expect([file.path, stored(file), file.startedOver]).toEqual([path, [], false]);
    await store(file, [500, 1000], [0, 500]);
    expect(stored(file)).toEqual([[0, 1000]]);
    expect(await names()).not.toContain('file.iso');
    await file.finish(1000);
    expect(await names()).toEqual(['file.iso']);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test('a later run goes on with what is there, after having checked it', async () => {
    const before = await start();
    await store(before, [0, 100], [300, 400]);
    await end(before);
    let verified = 0;
    const after = await start({ onVerify: () => verified++ });
    expect(stored(after)).toEqual([
      [0, 100],
      [300, 400],
    ]);
    expect([after.startedOver, verified]).toEqual([false, 1]);
    await store(after, [100, 300], [400, 1000]);
    await after.finish(1000);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test('a new file has nothing to check', async () => {
    let verified = 0;
    const file = await start({ onVerify: () => verified++ });
    await end(file);
    await start({ onVerify: () => verified++ });
    expect(verified).toBe(0);
  });

  test('a damaged stretch is fetched again, the others are not', async () => {
    const before = await start();
    await store(before, [0, 100], [100, 200], [200, 300]);
    await end(before);
    const data = await readFile(path + DATA_SUFFIX);
    data.writeUInt8(data.readUInt8(150) ^ 1, 150);
    await writeFile(path + DATA_SUFFIX, data);
    const after = await start();
    expect(stored(after)).toEqual([
      [0, 100],
      [200, 300],
    ]);
  });

  test('what was lost at the end of the data is fetched again', async () => {
    const before = await start();
    await store(before, [0, 100], [100, 200]);
    await end(before);
    await truncate(path + DATA_SUFFIX, 199);
    expect(stored(await start())).toEqual([[0, 100]]);
  });

  test('a journal that claims what is not there is not believed', async () => {
    const before = await start();
    await store(before, [0, 100]);
    await end(before);
    const digest = segmentDigest(Buffer.from('something else'));
    const lie = formatEntry({ range: { start: 100, end: 200 }, digest });
    await writeFile(path + JOURNAL_SUFFIX, lie, { flag: 'a' });
    expect(stored(await start())).toEqual([[0, 100]]);
  });

  test('provisional bytes count for this run only, until they are confirmed', async () => {
    const before = await start();
    await store(before, [0, 100]);
    await before.store(100, CONTENT.subarray(100, 300), true);
    expect(stored(before)).toEqual([[0, 300]]);
    await before.confirm({ start: 0, end: 200 });
    await end(before);
    expect(stored(await start())).toEqual([[0, 200]]);
  });

  test('confirming says nothing of bytes that were taken back meanwhile', async () => {
    const before = await start();
    await before.store(0, CONTENT.subarray(0, 300), true);
    await before.forget({ start: 50, end: 100 });
    await before.confirm({ start: 0, end: 300 });
    await end(before);
    expect(stored(await start())).toEqual([
      [0, 50],
      [100, 300],
    ]);
  });

  test('bytes that another has brought are no more provisional than before', async () => {
    const before = await start();
    await store(before, [0, 100]);
    await before.store(50, CONTENT.subarray(50, 150), true);
    await end(before);
    expect(stored(await start())).toEqual([[0, 100]]);
  });

  test('without its journal nothing of the data is believed', async () => {
    const before = await start();
    await store(before, [0, 1000]);
    await end(before);
    await rm(path + JOURNAL_SUFFIX);
    const after = await start();
    expect([stored(after), after.startedOver]).toEqual([[], true]);
  });

  test('without its data nothing of the journal is believed', async () => {
    const before = await start();
    await store(before, [0, 1000]);
    await end(before);
    await rm(path + DATA_SUFFIX);
    expect(stored(await start())).toEqual([]);
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
    const before = await start(was);
    await store(before, [0, 100]);
    await end(before);
    const after = await start(is);
    expect([stored(after), after.startedOver]).toEqual([[], true]);
    await store(after, [200, 300]);
    await end(after);
    const data = await readFile(path + DATA_SUFFIX);
    expect(data.subarray(0, 100).equals(Buffer.alloc(100))).toBe(true);
  });

  test('a journal torn at any byte gives what stands before, and never a wrong byte', async () => {
    const before = await start();
    await store(before, [0, 100], [500, 700], [100, 120]);
    await end(before);
    const journal = await readFile(path + JOURNAL_SUFFIX);
    const data = await readFile(path + DATA_SUFFIX);
    const first = journal.indexOf('\n');
    for (let at = 0; at <= journal.length; at++) {
      await writeFile(path + JOURNAL_SUFFIX, journal.subarray(0, at));
      await writeFile(path + DATA_SUFFIX, data);
      const after = await start();
      const lines =
        journal
          .subarray(first + 1, at)
          .toString()
          .match(/^\[\d.*\n/gm)?.length ?? 0;
      const bytes = [0, 100, 300, 320][lines];
      expect([at, after.stored.bytes]).toEqual([at, at <= first ? 0 : bytes]);
      const now = await readFile(path + DATA_SUFFIX);
      for (const { start: s, end: e } of after.stored.ranges) {
        expect(now.subarray(s, e).equals(CONTENT.subarray(s, e))).toBe(true);
      }
      await end(after);
    }
  });

  test('what has been flushed survives a crash at any later moment', async () => {
    const file = await start();
    await store(file, [0, 100]);
    await file.store(100, CONTENT.subarray(100, 200));
    const crashed = join(dir, 'crashed');
    for (const suffix of [DATA_SUFFIX, JOURNAL_SUFFIX]) await cp(path + suffix, crashed + suffix);
    const after = await start({ path: crashed });
    expect(after.stored.covers({ start: 0, end: 100 })).toBe(true);
    const data = await readFile(crashed + DATA_SUFFIX);
    for (const { start: s, end: e } of after.stored.ranges) {
      expect(data.subarray(s, e).equals(CONTENT.subarray(s, e))).toBe(true);
    }
  });

  test('a file of that name is never replaced, unless that is wanted', async () => {
    await writeFile(path, 'precious');
    await expect(start()).rejects.toMatchObject(refused('file-exists'));
    expect(await names()).toEqual(['file.iso']);
    const file = await start({ overwrite: true });
    expect(await readFile(path, 'utf8')).toBe('precious');
    await store(file, [0, 1000]);
    await file.finish(1000);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
    expect(await names()).toEqual(['file.iso']);
  });

  test('a file that came into being meanwhile is not replaced, and nothing is lost', async () => {
    const file = await start();
    await store(file, [0, 1000]);
    await writeFile(path, 'precious');
    await expect(file.finish(1000)).rejects.toMatchObject(refused('file-exists'));
    expect(await readFile(path, 'utf8')).toBe('precious');
    await end(file);
    await rm(path);
    expect(stored(await start())).toEqual([[0, 1000]]);
  });

  test('two downloads do not write to one file', async () => {
    await writeFile(`${path}.millrace-lock`, `${process.ppid}\n`);
    await expect(start()).rejects.toMatchObject(refused('file-in-use'));
    expect(await names()).toEqual(['file.iso.millrace-lock']);
  });

  test('a folder that is not there is told as such', async () => {
    await expect(start({ path: join(dir, 'missing', 'f') })).rejects.toMatchObject(
      refused('file-not-writable'),
    );
  });

  test('a file of unknown length cannot be gone on with, and leaves nothing behind', async () => {
    const file = await start({ length: undefined });
    await store(file, [0, 700]);
    await file.leave();
    expect(await names()).toEqual([]);
    const again = await start({ length: undefined });
    await store(again, [0, 700]);
    await again.finish(700);
    expect((await readFile(path)).equals(CONTENT.subarray(0, 700))).toBe(true);
    expect(await names()).toEqual(['file.iso']);
  });

  test('a file that turns out to be shorter is cut to its length', async () => {
    const file = await start({ length: undefined });
    await store(file, [0, 700]);
    await file.finish(600);
    expect((await readFile(path)).equals(CONTENT.subarray(0, 600))).toBe(true);
  });

  test('leaving keeps what can be gone on with, discarding keeps nothing', async () => {
    const file = await start();
    await store(file, [0, 100]);
    await file.leave();
    expect(await names()).toEqual([`file.iso${JOURNAL_SUFFIX}`, `file.iso${DATA_SUFFIX}`]);
    await (await start()).discard();
    expect(await names()).toEqual([]);
  });

  test('starting over forgets everything, also after a restart', async () => {
    const file = await start();
    await store(file, [0, 1000]);
    await file.startOver();
    expect(stored(file)).toEqual([]);
    await store(file, [0, 50]);
    await end(file);
    expect(stored(await start())).toEqual([[0, 50]]);
  });

  test('what is stored counts when it is written, and reaches the disk by itself on closing', async () => {
    const file = await start();
    const writing = file.store(0, CONTENT);
    expect(stored(file)).toEqual([]);
    await writing;
    expect(stored(file)).toEqual([[0, 1000]]);
    await end(file);
    expect(stored(await start())).toEqual([[0, 1000]]);
  });

  test.each(['sha256', 'md5'])('the %s of the file is that of its bytes', async (algorithm) => {
    const file = await start();
    await store(file, [0, 1000]);
    expect(await file.digest(algorithm, 1000)).toBe(
      createHash(algorithm).update(CONTENT).digest('hex'),
    );
    await expect(file.digest(algorithm, 1001)).rejects.toMatchObject(refused('file-not-writable'));
  });
});

/** The journal as text, once it has a line for the byte before `end`. */
async function journalOf(name: string, end: number): Promise<string> {
  for (;;) {
    const text = await readFile(name + JOURNAL_SUFFIX, 'utf8');
    if (text.includes(`,${end},"`)) return text;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('PartialFile and the end of the process', () => {
  test('what was stored survives it without having been flushed', async () => {
    const file = await start();
    await file.store(0, CONTENT.subarray(0, 100));
    await file.store(300, CONTENT.subarray(300, 350));
    await journalOf(path, 350);
    const killed = join(dir, 'killed');
    for (const suffix of [DATA_SUFFIX, JOURNAL_SUFFIX]) await cp(path + suffix, killed + suffix);
    const after = await start({ path: killed });
    expect(stored(after)).toEqual([
      [0, 100],
      [300, 350],
    ]);
    expect(after.damagedBytes).toBe(0);
  });

  test('bytes that had been flushed and are others now are counted as damaged', async () => {
    const before = await start();
    await store(before, [0, 100], [100, 200]);
    await end(before);
    const data = await readFile(path + DATA_SUFFIX);
    data.writeUInt8(data.readUInt8(150) ^ 1, 150);
    await writeFile(path + DATA_SUFFIX, data);
    const after = await start();
    expect([stored(after), after.damagedBytes]).toEqual([[[0, 100]], 100]);
  });

  test('small pieces become one line of the journal', async () => {
    const before = await start();
    for (let at = 0; at < 1000; at += 10) await before.store(at, CONTENT.subarray(at, at + 10));
    await end(before);
    const after = await start();
    expect(stored(after)).toEqual([[0, 1000]]);
    await end(after);
    const text = await readFile(path + JOURNAL_SUFFIX, 'utf8');
    expect(text.split('\n').filter((line) => /^\[\d/.test(line))).toHaveLength(1);
  });

  test('stretches across units, as others may write them, are understood', async () => {
    const length = 3 * 1024 * 1024;
    const content = Buffer.alloc(length, 'x');
    await (await start({ length })).close();
    await writeFile(path + DATA_SUFFIX, content);
    const digest = segmentDigest(content.subarray(10));
    const line = formatEntry({ range: { start: 10, end: length }, digest });
    await writeFile(path + JOURNAL_SUFFIX, line, { flag: 'a' });
    await end(await start({ length }));
    expect(stored(await start({ length }))).toEqual([[10, length]]);
  });

  test('a crash between the two names of a complete file costs nothing', async () => {
    const before = await start();
    await store(before, [0, 1000]);
    await end(before);
    await link(path + DATA_SUFFIX, path);
    const after = await start();
    expect(stored(after)).toEqual([[0, 1000]]);
    await after.finish(1000);
    expect(await names()).toEqual(['file.iso']);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test.each([[false], [true]])(
    'nor does one before the journal is deleted (overwrite: %s)',
    async (overwrite) => {
      const before = await start();
      await store(before, [0, 1000]);
      await end(before);
      await rename(path + DATA_SUFFIX, path);
      const after = await start({ overwrite });
      expect(stored(after)).toEqual([[0, 1000]]);
      await after.finish(1000);
      expect(await names()).toEqual(['file.iso']);
    },
  );

  test.each([
    ['another', Buffer.from('precious')],
    ['one with a wrong byte', Buffer.from(CONTENT).fill(0, 999)],
  ])('a complete file that is %s is somebody else\u2019s', async (_, content) => {
    const before = await start();
    await store(before, [0, 1000]);
    await end(before);
    await rm(path + DATA_SUFFIX);
    await writeFile(path, content);
    await expect(start()).rejects.toMatchObject(refused('file-exists'));
    expect((await readFile(path)).equals(content)).toBe(true);
  });

  test('verifying tells how far it has come, and can be ended', async () => {
    const before = await start();
    await store(before, [0, 100], [200, 250], [500, 1000]);
    await end(before);
    const told: [number, number][] = [];
    const after = await start({ onVerifyProgress: (done, all) => told.push([done, all]) });
    expect(told).toHaveLength(3);
    expect(told.at(-1)).toEqual([650, 650]);
    await end(after);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(start({ signal })).rejects.toThrow('enough');
    expect(stored(await start())).toHaveLength(3);
  });
});

describe('PartialFile and other programs', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['deleted', () => rm(path + DATA_SUFFIX)],
    ['truncated', () => truncate(path + DATA_SUFFIX, 50)],
    ['extended', () => truncate(path + DATA_SUFFIX, 5000)],
    [
      'replaced',
      async () => {
        await writeFile(join(dir, 'other'), Buffer.alloc(1000));
        await rename(join(dir, 'other'), path + DATA_SUFFIX);
      },
    ],
  ])('a file that is %s meanwhile is not gone on with', async (what, change) => {
    const file = await start();
    await store(file, [0, 500]);
    await change();
    await file.store(500, CONTENT.subarray(500, 600));
    await expect(file.flush()).rejects.toMatchObject(refused('file-changed'));
    await expect(file.store(0, CONTENT)).rejects.toMatchObject(refused('file-changed'));
    await expect(file.finish(1000)).rejects.toMatchObject(refused('file-changed'));
    expect(await names()).not.toContain('file.iso');
    await file.discard();
    // What is not ours is not deleted.
    const left = (await names()).includes(`file.iso${DATA_SUFFIX}`);
    expect(left).toBe(what !== 'deleted');
  });

  test('after that, only what is wrong is fetched again', async () => {
    const file = await start();
    await store(file, [0, 300], [500, 1000]);
    await truncate(path + DATA_SUFFIX, 900);
    await expect(file.finish(1000)).rejects.toMatchObject(refused('file-changed'));
    await end(file);
    const after = await start();
    expect(stored(after)).toEqual([[0, 300]]);
    await store(after, [300, 1000]);
    await after.finish(1000);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test('bytes that somebody has changed never get the final name', async () => {
    const lost: ByteRange[] = [];
    const file = await start({ onLost: (ranges) => lost.push(...ranges) });
    await store(file, [0, 400], [400, 700], [700, 1000]);
    const other = await openFile(path + DATA_SUFFIX, 'r+');
    await other.write('wrong', 500);
    await other.utimes(1, 1);
    await other.close();
    await expect(file.finish(1000)).rejects.toMatchObject(refused('file-changed'));
    // They had become one stretch.
    expect(lost).toEqual([{ start: 0, end: 1000 }]);
    expect(await names()).not.toContain('file.iso');
    await store(file, [0, 1000]);
    await file.finish(1000);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test('a file that was only touched is whole', async () => {
    const file = await start();
    await store(file, [0, 1000]);
    await utimes(path + DATA_SUFFIX, 1, 1);
    await file.finish(1000);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['deleted', () => rm(path + JOURNAL_SUFFIX)],
    ['truncated', () => truncate(path + JOURNAL_SUFFIX, 5)],
    ['replaced', () => rm(path + JOURNAL_SUFFIX).then(() => writeFile(path + JOURNAL_SUFFIX, 'x'))],
  ])('a journal that is %s meanwhile is written again', async (_, change) => {
    const file = await start();
    await store(file, [0, 100]);
    await change();
    await store(file, [200, 300]);
    await end(file);
    expect(stored(await start())).toEqual([
      [0, 100],
      [200, 300],
    ]);
  });
});

describe('PartialFile and wrong bytes', () => {
  test('what is forgotten is gone, after a restart too; what is beside it stays', async () => {
    const lost: ByteRange[] = [];
    const file = await start({ onLost: (ranges) => lost.push(...ranges) });
    await store(file, [0, 1000]);
    await file.forget({ start: 300, end: 500 });
    const left = [
      [0, 300],
      [500, 1000],
    ];
    expect([stored(file), file.removals, lost]).toEqual([left, 1, [{ start: 300, end: 500 }]]);
    await end(file);
    const after = await start();
    expect(stored(after)).toEqual(left);
    await store(after, [300, 500]);
    await after.finish(1000);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test('the first copy of bytes stays, whatever the second is', async () => {
    const file = await start();
    await store(file, [100, 200]);
    await file.store(0, Buffer.from(CONTENT).fill(0, 100, 200));
    await file.finish(1000);
    expect((await readFile(path)).equals(CONTENT)).toBe(true);
  });

  test('of copies that come at the same time, one is kept', async () => {
    const file = await start();
    const copies = Array.from({ length: 8 }, (_, i) => Buffer.alloc(1000, i + 1));
    await Promise.all(copies.map((copy, i) => file.store(i * 10, copy.subarray(i * 10))));
    await end(file);
    const after = await start();
    expect([stored(after), after.damagedBytes]).toEqual([[[0, 1000]], 0]);
  });
});
