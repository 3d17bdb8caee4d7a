import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { blockColumns, blockPlaces, chooseShards, inOrder } from './block-ways.ts';
import { columnsOf, unitsOf } from './coded.ts';
import {
  blockBytesFor,
  type CodedExtent,
  type Exnode,
  type ExnodeReplica,
  MIN_BLOCK_BYTES,
} from './exnode.ts';
import { replicaBlock } from './replicas.ts';

const MIB = MIN_BLOCK_BYTES;
const at = (read: string, position = 0): ExnodeReplica => ({ read, at: position });

/** Makes a file whose digests are the numbers of their blocks. */
function exnodeOf(size: number, more: Partial<Exnode>): Exnode {
  const pieceBytes = blockBytesFor(size);
  const hexes = Array.from({ length: Math.ceil(size / pieceBytes) }, (_, i) => `${i}`);
  const blocks = { algorithm: 'sha256', pieceBytes, hexes } as const;
  return { name: 'a', size, blocks, root: 'r', extents: [], ...more };
}

/** Makes a coded extent whose digests of parity are `SHARD:COLUMN`. */
function codedOf(start: number, end: number, data: number, parity: number, unit: number) {
  const layout = { start, end, data, parity, unit };
  const columns = columnsOf(layout, MIB);
  const parityHexes = Array.from({ length: parity }, (_, j) =>
    Array.from({ length: columns }, (_, column) => `${data + j}:${column}`),
  );
  const shards = Array.from({ length: data + parity }, (_, i) => [at(`shard ${i}`, 100 * MIB)]);
  return { ...layout, parityHexes, shards } satisfies CodedExtent;
}

describe('a block of a file', () => {
  test('is where its extent and its place in it say', () => {
    const exnode = exnodeOf(9 * MIB + 5, {
      extents: [
        { start: 0, end: 4 * MIB, replicas: [at('a'), at('b', 7)] },
        { start: 3 * MIB, end: 9 * MIB + 5, replicas: [at('c', 2 * MIB)] },
      ],
    });
    expect(blockPlaces(exnode, 0)).toEqual([
      { replica: at('a'), at: 0 },
      { replica: at('b', 7), at: 7 },
    ]);
    const third = blockPlaces(exnode, 3).map(({ replica, at }) => [replica.read, at]);
    expect(third).toEqual([
      ['a', 3 * MIB],
      ['b', 3 * MIB + 7],
      ['c', 2 * MIB],
    ]);
    expect(blockPlaces(exnode, 9).map(({ at }) => at)).toEqual([8 * MIB]);
    expect(blockColumns(exnode, 3)).toEqual([]);
  });

  test('of coded shards is where the units of its shard say, and its column has the others', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 40 * MIB }),
        fc.nat(),
        (data, parity, blocks, bytes, chance) => {
          const start = 2 * MIB;
          const extent = codedOf(start, start + bytes, data, parity, blocks * MIB);
          const exnode = exnodeOf(start + bytes, { coded: [extent] });
          const index = 2 + (chance % Math.ceil(bytes / MIB));
          const [place] = blockPlaces(exnode, index);
          const own = [...Array(data).keys()].find((shard) =>
            unitsOf(extent, shard).some(
              (unit) => unit.start <= index * MIB && index * MIB < unit.end,
            ),
          ) as number;
          const unit = unitsOf(extent, own).findLast((one) => one.start <= index * MIB);
          const position = (unit?.at ?? 0) + index * MIB - (unit?.start ?? 0);
          expect(place).toEqual({
            replica: at(`shard ${own}`, 100 * MIB),
            at: 100 * MIB + position,
          });
          const [column] = blockColumns(exnode, index);
          expect([column?.own, column?.others.length]).toEqual([own, data + parity - 1]);
          for (const other of column?.others ?? []) {
            if (other.bytes === 0) continue;
            const listed = {
              ...{ replica: at(''), extent },
              shard: { extent, index: other.index },
            };
            const known = replicaBlock(exnode, listed, position / MIB);
            expect(other.hex).toBe(known.hex);
            expect(other.bytes).toBe(known.range.end - known.range.start);
            expect(other.places.map((one) => one.at)).toEqual([100 * MIB + known.range.start]);
            expect(other.block).toBe(other.index < data ? Number(other.hex) : undefined);
          }
        },
      ),
    );
  });
});

describe('the order of what is asked', () => {
  const places = ['a', 'b', 'c', 'd'].map((read) => ({ replica: at(read), at: 0 }));

  test('is that of the rank, those that have failed apart, and those that are out never', () => {
    const standing = ({ read }: ExnodeReplica) =>
      read === 'a' ? 'doubtful' : read === 'b' ? 'out' : 'good';
    const { good, doubtful } = inOrder(places, standing, ({ read }) => -read.charCodeAt(0));
    expect(good.map(({ replica }) => replica.read)).toEqual(['d', 'c']);
    expect(doubtful.map(({ replica }) => replica.read)).toEqual(['a']);
  });

  test('of shards begins with zeros and data; too few are none', () => {
    const extent = codedOf(0, 2 * MIB, 4, 2, MIB);
    const [column] = blockColumns(exnodeOf(2 * MIB, { coded: [extent] }), 0);
    if (column === undefined) throw new Error('there is no column');
    const chosen = (bad: readonly string[], failed: readonly number[] = []) =>
      chooseShards(
        column,
        ({ read }) => (bad.includes(read) ? 'doubtful' : 'good'),
        new Set(failed),
      )?.map(({ index }) => index);
    // Shards 2 and 3 have no bytes.
    expect(chosen([])).toEqual([2, 3, 1, 4]);
    expect(chosen(['shard 1'])).toEqual([2, 3, 4, 5]);
    expect(chosen([], [1])).toEqual([2, 3, 4, 5]);
    expect(chosen(['shard 5'], [1])).toEqual([2, 3, 4, 5]);
    expect(chosen([], [1, 4])).toBeUndefined();
  });
});
