/** Disks that are full, fill up during a download, or cannot be written: no stored byte is lost. */

import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SmallDisk, smallDiskOrComplain } from '../../testing/small-disk.ts';
import { roomFor } from './disk-room.ts';
import { PartialFile } from './partial-file.ts';

const MiB = 1024 * 1024;
const available = smallDiskOrComplain('full and read-only disks');
let disk: SmallDisk | undefined;
const open = new Set<PartialFile>();

beforeEach(() => {
  disk = available ? new SmallDisk(8) : undefined;
});
afterEach(async () => {
  for (const file of open) await file.close();
  open.clear();
  disk?.remove();
});

const path = (name: string) => join(disk?.path ?? '', name);

async function start(content: Buffer): Promise<PartialFile> {
  const header = {
    url: 'https://example.com/f',
    length: content.length,
    validators: { etag: '"a"' },
  };
  const file = await PartialFile.open({ path: path('file'), overwrite: false, header });
  open.add(file);
  return file;
}

/** Fills the disk. @returns a function that frees the space */
async function fill(): Promise<() => Promise<void>> {
  const name = path('filler');
  for (let bytes = MiB; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    for (;;) {
      try {
        await writeFile(name, Buffer.alloc(bytes), { flag: 'a' });
      } catch {
        break;
      }
    }
  }
  return () => rm(name);
}

const full = { code: 'disk-full' };

describe('a disk that fills up', () => {
  test('while data are written: the download keeps its bytes and continues once there is room', async () => {
    if (disk === undefined) return;
    const content = randomBytes(5 * MiB);
    const file = await start(content);
    const store = (unit: number) =>
      file.store(unit * MiB, content.subarray(unit * MiB, (unit + 1) * MiB));
    await store(0);
    await store(3);
    const makeRoom = await fill();
    await expect(store(1)).rejects.toMatchObject(full);
    const room = await roomFor(file.path, 3 * MiB);
    expect(room.needed).toBeGreaterThan(room.free);
    expect(file.stored.ranges).toEqual([
      { start: 0, end: MiB },
      { start: 3 * MiB, end: 4 * MiB },
    ]);
    await makeRoom();
    const { needed, free } = await roomFor(file.path, 3 * MiB);
    expect(needed).toBeLessThan(free);
    await file.flush();
    for (const unit of [1, 2, 4]) await store(unit);
    await file.finish(content.length);
    await file.settle(true);
    expect((await readFile(path('file'))).equals(content)).toBe(true);
  });

  test('while the journal is written: stored bytes are recorded once there is room', async () => {
    if (disk === undefined) return;
    // All data lie in one page that exists already; only the journal grows.
    const content = randomBytes(4096);
    const file = await start(content);
    await file.store(0, content.subarray(0, 4));
    const makeRoom = await fill();
    let failure: unknown;
    for (let at = 4; at < 4096 && failure === undefined; at += 4) {
      await file.store(at, content.subarray(at, at + 4)).catch((error: unknown) => {
        failure = error;
      });
    }
    expect(failure).toMatchObject(full);
    const bytes = file.stored.bytes;
    await expect(file.flush()).rejects.toMatchObject(full);
    await expect(file.store(0, content)).rejects.toMatchObject(full);
    await makeRoom();
    await file.flush();
    await file.close();
    open.delete(file);
    const after = await start(content);
    expect(after.stored.bytes).toBe(bytes);
    await after.store(0, content);
    await after.finish(content.length);
    await after.settle(true);
    expect((await readFile(path('file'))).equals(content)).toBe(true);
  });

  test('and stays full: the next run continues with the bytes stored before', async () => {
    if (disk === undefined) return;
    const content = randomBytes(5 * MiB);
    const file = await start(content);
    await file.store(0, content.subarray(0, MiB));
    const makeRoom = await fill();
    await expect(file.store(MiB, content.subarray(MiB))).rejects.toMatchObject(full);
    await file.close();
    open.delete(file);
    await expect(start(content)).rejects.toMatchObject(full);
    await makeRoom();
    const after = await start(content);
    expect(after.stored.covers({ start: 0, end: MiB })).toBe(true);
  });
});

test('a disk that is too small is reported before anything is written', async () => {
  if (disk === undefined) return;
  await expect(start(Buffer.alloc(9 * MiB))).rejects.toMatchObject(full);
  expect(await readdir(disk.path)).toEqual(['file.millrace-part']);
});

test('a folder that cannot be written is reported as such, and nothing is left there', async () => {
  if (disk === undefined) return;
  disk.setReadOnly();
  await expect(start(Buffer.alloc(1))).rejects.toMatchObject({
    code: 'file-not-writable',
    detail: expect.stringContaining('EROFS'),
  });
  expect(await readdir(disk.path)).toEqual([]);
});
