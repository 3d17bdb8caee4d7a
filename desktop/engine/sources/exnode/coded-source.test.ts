/** The memory of a coded download, and its bytes: the real source of parity over depots of a test. */

import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { TABLE_KERNEL } from '@millrace/shared/code/kernel';
import { ReedSolomon } from '@millrace/shared/code/reed-solomon';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import { columnsOf } from '@millrace/shared/exnode/coded';
import type { CodedExtent } from '@millrace/shared/exnode/exnode';
import type { DownloadSource } from '../download-source.ts';
import { CodedSource } from './coded-source.ts';
import { ParityBlocks } from './parity-blocks.ts';

const MIB = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
const signal = new AbortController().signal;

/**
 * A file in 4+`parity` shards, whose blocks each have one value. Its first `lost` data shards are at no
 * place, and all others are stored.
 */
function lostShards(options: {
  blockBytes: number;
  columns: number;
  parity: number;
  lost: number;
}) {
  const { blockBytes, columns, parity, lost } = options;
  const layout = { start: 0, end: 4 * columns * blockBytes, data: 4, parity, unit: blockBytes };
  const valueAt = (at: number) => ((at / blockBytes) % 251) + 1;
  const code = new ReedSolomon(4, parity, TABLE_KERNEL);
  const values = Array.from({ length: columns }, (_, row) => {
    const own = [0, 1, 2, 3].map((i) => Uint8Array.of(valueAt((4 * row + i) * blockBytes)));
    const sums = Array.from({ length: parity }, () => new Uint8Array(1));
    code.encode(own, sums);
    return sums.map(([value = 0]) => value);
  });
  const digests = new Map<number, string>();
  const digestOf = (value: number) => {
    const hash = createHash('sha256');
    const hex = digests.get(value) ?? hash.update(Buffer.alloc(blockBytes, value)).digest('hex');
    digests.set(value, hex);
    return hex;
  };
  const extent: CodedExtent = {
    ...layout,
    parityHexes: Array.from({ length: parity }, (_, i) =>
      values.map((sums) => digestOf(sums[i] as number)),
    ),
    shards: Array.from({ length: 4 + parity }, (_, i) => [
      { read: `http://depot-${i}.example/`, at: 0 },
    ]),
  };
  expect(columnsOf(extent, blockBytes)).toBe(columns);

  /** Memory of blocks of parity, and of what was solved. */
  const memory = new Set<ArrayBuffer>();
  /** Bytes of parity: under way now, the most of that, and all. */
  const parityBytes = { coming: 0, most: 0, all: 0 };
  let begun = 0;
  /** Called when a block of parity begins to come in. */
  let atBegin = (_begun: number): Promise<void> | undefined => undefined;
  const open = (url: string) => ({
    async openRange(range: ByteRange) {
      const number = Number(/depot-(\d+)/.exec(url)?.[1]) - 4;
      const value = values[range.start / blockBytes]?.[number] as number;
      const bytes = range.end - range.start;
      parityBytes.coming += bytes;
      parityBytes.all += bytes;
      parityBytes.most = Math.max(parityBytes.most, parityBytes.coming);
      await atBegin(++begun);
      const piece = Buffer.alloc(PIECE_BYTES, value);
      return {
        ...{ kind: 'range', range },
        async read(
          sink: (at: number, bytes: Uint8Array) => unknown,
          room: () => Uint8Array | undefined,
        ) {
          memory.add(room()?.buffer as ArrayBuffer);
          for (let at = 0; at < bytes; at += PIECE_BYTES) await sink(range.start + at, piece);
        },
        discard() {},
      };
    },
  });
  /** Position up to which the solved blocks are stored and proven. */
  let solvedTo = 0;
  const isThere = ({ start }: ByteRange) => (start / blockBytes) % 4 >= lost;
  const isStored = (block: ByteRange) => block.end <= solvedTo || isThere(block);
  const source = new CodedSource({
    extents: [extent],
    blockBytes,
    state: { isProven: isStored, canCome: isThere, isLate: () => false, isUrgent: () => false },
    parity: new ParityBlocks({
      isUsed: () => true,
      open: open as unknown as (url: string) => DownloadSource,
      random: () => 0.5,
      now: () => 0,
      onBytes: () => undefined,
      onWrong: (_depot, error) => {
        throw error;
      },
    }),
    stamp: () => `${solvedTo}`,
    provenWithin: () => 0,
    isProving: () => false,
    // Its parity is of no use any more.
    onSolving: () => () => {
      parityBytes.coming -= blockBytes;
    },
    readStored: async (into, position) => {
      into.fill(valueAt(position - (position % blockBytes)));
      return into.length;
    },
    health: new SourceHealth(() => 0.5),
  });
  /** Asks for a block, and compares its bytes. */
  const check = async ({ start, end }: ByteRange) => {
    const opened = await source.openRange({ start, end }, undefined, signal);
    let at = start;
    await opened.read((position, bytes) => {
      expect(position).toBe(at);
      memory.add(bytes.buffer as ArrayBuffer);
      expect(Buffer.alloc(bytes.length, valueAt(start)).equals(bytes)).toBe(true);
      at += bytes.length;
      return undefined;
    });
    expect(at).toBe(end);
  };
  const onBegin = (call: typeof atBegin) => {
    atBegin = call;
  };
  const setSolvedTo = (position: number) => {
    solvedTo = position;
  };
  return { source, parityBytes, memory, check, onBegin, setSolvedTo };
}

test('however many blocks are asked for, 24 MiB are solved at a time, 16 read ahead and 32 kept', async () => {
  const { source, parityBytes, check, onBegin } = lostShards({
    ...{ blockBytes: MIB, columns: 24, parity: 2, lost: 2 },
  });
  // All parity that may come in at a time is under way at once: 12 columns of two blocks.
  const all = Promise.withResolvers<void>();
  onBegin((begun) => {
    if (begun === 24) all.resolve();
    return all.promise;
  });
  const { parts } = source;
  expect(parts.length).toBe(48);
  await Promise.all(parts.map(check));
  // Each block of parity has come once, for all blocks of its column.
  expect(parityBytes.all).toBe(48 * MIB);
  expect(parityBytes.most).toBeGreaterThanOrEqual(24 * MIB);
  expect(parityBytes.most).toBeLessThanOrEqual((24 + 16) * MIB);
  // One block of each column: those of 16 columns at most are still there, the others are solved anew.
  for (const part of parts.filter((_, i) => i % 2 === 0)) await check(part);
  expect(parityBytes.all - 48 * MIB).toBeGreaterThanOrEqual((24 - 16) * 2 * MIB);
});

test('a column of more than 32 MiB is solved alone, and one of them is kept', async () => {
  const { source, parityBytes, check } = lostShards({
    ...{ blockBytes: 16 * MIB, columns: 2, parity: 3, lost: 3 },
  });
  const { parts } = source;
  await Promise.all(parts.map(check));
  expect([parityBytes.most, parityBytes.all]).toEqual([48 * MIB, 2 * 48 * MIB]);
  for (const part of [parts[0], parts[3]]) await check(part as ByteRange);
  expect(parityBytes.all).toBeGreaterThanOrEqual(3 * 48 * MIB);
});

test('memory of parity is free once it has been used, that of blocks once they are proven', async () => {
  const { source, memory, check, setSolvedTo } = lostShards({
    ...{ blockBytes: MIB, columns: 8, parity: 2, lost: 2 },
  });
  const { parts } = source;
  for (const part of parts) await check(part);
  const held = () => [...memory].filter(({ detached }) => !detached).length;
  // Solved blocks may be asked for again.
  expect([memory.size, held()]).toEqual([2 * 16, 16]);
  setSolvedTo(parts[7]?.end ?? 0);
  expect([source.parts.length, held()]).toEqual([8, 8]);
  // A block that is still read is not freed before that ends.
  const [, , , , , , , , last] = parts;
  const opened = await source.openRange(last as ByteRange, undefined, signal);
  setSolvedTo(parts[15]?.end ?? 0);
  expect([source.parts.length, held()]).toEqual([0, 2]);
  let bytes = 0;
  await opened.read((_at, piece) => {
    bytes += piece.length;
    return undefined;
  });
  expect([bytes, held()]).toEqual([MIB, 0]);
});
