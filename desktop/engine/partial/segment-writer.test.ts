import { describe, expect, jest, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { PartialFile } from './partial-file.ts';
import { SEGMENT_BYTES, SegmentPool } from './segment-pool.ts';
import { SegmentWriter } from './segment-writer.ts';

/** Returns a file whose writes end at once, or when the test ends them. */
function setUp(atOnce = true) {
  const stores: { position: number; bytes: Buffer; finish(error?: Error): void }[] = [];
  const file = {
    store: (position: number, bytes: Buffer) =>
      new Promise<void>((resolve, reject) => {
        const finish = (error?: Error) => (error === undefined ? resolve() : reject(error));
        // The bytes on disk are those in the segment when the write ends.
        stores.push({ position, bytes: atOnce ? Buffer.from(bytes) : bytes, finish });
        if (atOnce) finish();
      }),
  };
  const pool = new SegmentPool();
  const writer = new SegmentWriter(file as unknown as PartialFile, pool);
  return { stores, file, pool, writer };
}

const MIB = 1024 * 1024;
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const places = (stores: { position: number; bytes: Buffer }[]) =>
  stores.map(({ position, bytes }) => [position, bytes.length]);

describe('SegmentWriter', () => {
  test('collects bytes and writes the rest at the end', async () => {
    const { stores, writer } = setUp();
    for (let i = 0; i < 1000; i++) writer.write(i * 3, Buffer.from('abc'));
    expect(stores).toHaveLength(0);
    await writer.end();
    expect(places(stores)).toEqual([[0, 3000]]);
    expect(stores[0]?.bytes.toString()).toBe('abc'.repeat(1000));
  });

  test('writes whole segments, which end at multiples of their size', async () => {
    const { stores, writer } = setUp();
    writer.write(SEGMENT_BYTES - 10, Buffer.alloc(2 * SEGMENT_BYTES));
    await writer.end();
    expect(places(stores)).toEqual([
      [SEGMENT_BYTES - 10, 10],
      [SEGMENT_BYTES, SEGMENT_BYTES],
      [2 * SEGMENT_BYTES, SEGMENT_BYTES - 10],
    ]);
  });

  test('bytes at another position begin a new segment', async () => {
    const { stores, writer } = setUp();
    writer.write(0, Buffer.from('aa'));
    writer.write(2, Buffer.from('bb'));
    writer.write(100, Buffer.from('cc'));
    writer.write(50, Buffer.from('dd'));
    await writer.end();
    expect(stores.map(({ position, bytes }) => [position, bytes.toString()])).toEqual([
      [0, 'aabb'],
      [100, 'cc'],
      [50, 'dd'],
    ]);
  });

  test('bytes are copied: their memory may be used again', async () => {
    const { stores, writer } = setUp();
    const input = Buffer.from('abc');
    writer.write(0, input);
    input.fill('x');
    await writer.end();
    expect(stores[0]?.bytes.toString()).toBe('abc');
  });

  test('bytes that arrive slowly are written after a time limit, even if the segment is not full', async () => {
    jest.useFakeTimers();
    try {
      const { stores, writer } = setUp();
      writer.write(0, Buffer.from('aa'));
      jest.advanceTimersByTime(499);
      writer.write(2, Buffer.from('bb'));
      expect(stores).toHaveLength(0);
      jest.advanceTimersByTime(1);
      expect(places(stores)).toEqual([[0, 4]]);
      writer.write(4, Buffer.from('cc'));
      await writer.end();
      jest.advanceTimersByTime(10_000);
      expect(places(stores)).toEqual([
        [0, 4],
        [4, 2],
      ]);
    } finally {
      jest.useRealTimers();
    }
  });

  test('an empty write stores nothing', async () => {
    const { stores, writer } = setUp();
    writer.write(5, Buffer.alloc(0));
    await writer.end();
    expect(stores).toHaveLength(0);
  });

  test('the end waits for every write', async () => {
    const { stores, writer } = setUp(false);
    writer.write(0, Buffer.alloc(SEGMENT_BYTES + 1));
    let ended = false;
    const end = writer.end().then(() => {
      ended = true;
    });
    stores[1]?.finish();
    await settle();
    expect(ended).toBe(false);
    stores[0]?.finish();
    await end;
    expect(ended).toBe(true);
  });

  test('memory is used again only when its write has ended', async () => {
    const { stores, writer } = setUp(false);
    writer.write(0, Buffer.alloc(SEGMENT_BYTES, 'a'));
    writer.write(SEGMENT_BYTES, Buffer.alloc(SEGMENT_BYTES, 'b'));
    expect(stores[0]?.bytes.every((byte) => byte === 0x61)).toBe(true);
    stores[0]?.finish();
    await settle();
    writer.write(2 * SEGMENT_BYTES, Buffer.alloc(SEGMENT_BYTES, 'c'));
    expect(stores[2]?.bytes.buffer).toBe(stores[0]?.bytes.buffer);
    expect(stores[1]?.bytes.every((byte) => byte === 0x62)).toBe(true);
  });

  test('a slow disk holds the source back until it has caught up', async () => {
    const { stores, writer } = setUp(false);
    let position = 0;
    let wait: Promise<void> | undefined;
    while (wait === undefined && position < 100) {
      wait = writer.write(position++ * SEGMENT_BYTES, Buffer.alloc(SEGMENT_BYTES));
    }
    expect(position).toBe(1 + 4 * (MIB / SEGMENT_BYTES));
    let ready = false;
    void wait?.then(() => {
      ready = true;
    });
    await settle();
    expect(ready).toBe(false);
    stores[0]?.finish();
    await settle();
    expect(ready).toBe(true);
    expect(writer.write(17 * SEGMENT_BYTES, Buffer.alloc(1))).toBeUndefined();
  });

  describe('room', () => {
    const fill = (room: Buffer, text: string) => room.subarray(0, room.write(text));

    test('bytes that were read into the room are not copied', async () => {
      const { stores, pool, file } = setUp(false);
      const writer = new SegmentWriter(file as unknown as PartialFile, pool, 100);
      const room = writer.room();
      expect(room.length).toBe(SEGMENT_BYTES - 100);
      writer.write(100, fill(room, 'abc'));
      writer.write(103, fill(writer.room(), 'defg'));
      const ended = writer.end();
      expect(stores[0]?.bytes.toString()).toBe('abcdefg');
      expect(stores[0]?.bytes.byteOffset).toBe(room.byteOffset);
      expect(stores[0]?.bytes.buffer).toBe(room.buffer);
      stores[0]?.finish();
      await ended;
    });

    test('an end position limits the room, unless the next bytes are already beyond it', () => {
      const { writer } = setUp();
      expect(writer.room(1000).length).toBe(1000);
      writer.write(0, fill(writer.room(1000), 'abc'));
      expect(writer.room(1000).length).toBe(997);
      expect(writer.room(4).length).toBe(1);
      for (const passed of [3, 2]) expect(writer.room(passed).length).toBe(SEGMENT_BYTES - 3);
      expect(writer.room(2 * SEGMENT_BYTES).length).toBe(SEGMENT_BYTES - 3);
    });

    test('a write of only some of the bytes read, or of none, leaves the others out', async () => {
      const { stores, writer } = setUp();
      writer.write(0, fill(writer.room(), 'abcdef').subarray(0, 3));
      fill(writer.room(), 'xyz');
      writer.write(3, fill(writer.room(), 'g'));
      await writer.end();
      expect(stores[0]?.bytes.toString()).toBe('abcg');
    });

    test('bytes from elsewhere are copied, and the next room begins after them', async () => {
      const { stores, writer } = setUp();
      writer.write(0, fill(writer.room(), 'ab'));
      writer.write(2, Buffer.from('cd'));
      writer.write(4, fill(writer.room(), 'ef'));
      await writer.end();
      expect(stores[0]?.bytes.toString()).toBe('abcdef');
    });

    test('memory that a read still uses is not reused after a timed write', async () => {
      jest.useFakeTimers();
      try {
        const { stores, file, pool, writer } = setUp(false);
        writer.write(0, fill(writer.room(), 'ab'));
        const reading = writer.room();
        jest.advanceTimersByTime(500);
        expect(places(stores)).toEqual([[0, 2]]);
        stores[0]?.finish();
        for (let i = 0; i < 5; i++) await Promise.resolve();
        const other = new SegmentWriter(file as unknown as PartialFile, pool);
        other.write(0, Buffer.alloc(100, 'x'));
        writer.write(2, fill(reading, 'cd'));
        void other.end();
        void writer.end();
        expect(stores.slice(1).map(({ bytes }) => bytes.toString())).toEqual([
          'x'.repeat(100),
          'cd',
        ]);
      } finally {
        jest.useRealTimers();
      }
    });

    test('memory returns to the pool when no read uses it and all of its bytes are written', async () => {
      const { stores, pool, writer } = setUp(false);
      const memory = writer.room().buffer;
      writer.write(0, fill(writer.room(), 'ab'));
      const ended = writer.end();
      expect(pool.take().buffer).not.toBe(memory);
      stores[0]?.finish();
      await ended;
      expect(pool.take().buffer).toBe(memory);
    });
  });

  test('connections of one download share the bound on bytes being written', async () => {
    const { stores, file, pool, writer } = setUp(false);
    const other = new SegmentWriter(file as unknown as PartialFile, pool);
    for (let i = 0; i < 16; i++) writer.write(i * SEGMENT_BYTES, Buffer.alloc(SEGMENT_BYTES));
    const wait = other.write(16 * SEGMENT_BYTES, Buffer.alloc(SEGMENT_BYTES));
    expect(wait).toBeInstanceOf(Promise);
    for (const store of stores) store.finish();
    await wait;
  });

  test('a failure shows at the next write and at the end, and frees the room', async () => {
    const { stores, pool, writer } = setUp(false);
    for (let i = 0; i < 17; i++) writer.write(i * SEGMENT_BYTES, Buffer.alloc(SEGMENT_BYTES));
    const full = new MillraceError('disk-full');
    for (const store of stores) store.finish(full);
    await settle();
    expect(() => writer.write(0, Buffer.from('x'))).toThrow(full);
    await expect(writer.end()).rejects.toBe(full);
    expect(pool.room()).toBeUndefined();
  });

  test('bytes in any order and in pieces of any size end up where they belong', async () => {
    const random = seededRandom(5);
    const { stores, writer } = setUp();
    const length = 3 * SEGMENT_BYTES + 12_345;
    const content = Buffer.alloc(length);
    for (let i = 0; i < length; i++) content[i] = i * 7 + (i >> 8);
    let at = 0;
    const runs: [number, number][] = [];
    while (at < length) {
      const end = Math.min(length, at + 1 + Math.floor(random() * SEGMENT_BYTES));
      runs.push([at, end]);
      at = end;
    }
    runs.sort(() => random() - 0.5);
    for (const [start, end] of runs) {
      for (let from = start; from < end; ) {
        const to = Math.min(end, from + 1 + Math.floor(random() * 100_000));
        writer.write(from, content.subarray(from, to));
        from = to;
      }
    }
    await writer.end();
    const file = Buffer.alloc(length);
    let written = 0;
    for (const { position, bytes } of stores) {
      written += bytes.copy(file, position);
      expect(Math.floor(position / SEGMENT_BYTES)).toBe(
        Math.floor((position + bytes.length - 1) / SEGMENT_BYTES),
      );
    }
    expect(written).toBe(length);
    expect(file.equals(content)).toBe(true);
  });
});
