import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { blockInColumn, columnAt, columnRange, columnsOf, shardBytes, unitsOf } from './coded.ts';
import type { CodedExtent, Exnode, ExnodeReplica } from './exnode.ts';
import { coverage, layoutOf } from './layout.ts';
import { planTrim } from './trim.ts';

const SECRET = 's'.repeat(32);

/** A replica in the only allocation of a depot. */
function replicaAt(depot: number): ExnodeReplica {
  const at = (kind: string) =>
    `http://d${depot}.example/-/${kind}/${String(depot).repeat(16)}/${SECRET}`;
  return { read: `${at('d')}/x`, at: 0, manage: at('depot/m') };
}

const drawn = fc
  .record({
    data: fc.integer({ min: 1, max: 4 }),
    parity: fc.integer({ min: 1, max: 3 }),
    unit: fc.integer({ min: 1, max: 3 }),
    blocks: fc.integer({ min: 1, max: 40 }),
    start: fc.nat(3),
  })
  .chain((layout) =>
    fc.record({
      layout: fc.constant(layout),
      // At most two replicas of a shard, at any of six depots; or none.
      places: fc.array(fc.array(fc.nat(5), { maxLength: 2 }), {
        ...{ minLength: layout.data + layout.parity, maxLength: layout.data + layout.parity },
      }),
    }),
  );

/** An exNode with blocks of 2 bytes and one coded extent, whose last block is short. */
function exnodeOf({ layout, places }: typeof drawn extends fc.Arbitrary<infer T> ? T : never) {
  const { data, parity, blocks } = layout;
  const start = 2 * layout.start;
  const end = start + 2 * blocks - 1;
  const range = { start, end, data, parity, unit: 2 * layout.unit };
  const shards = places.map((depots, i) =>
    shardBytes(range, i) === 0 ? [] : depots.map((depot) => replicaAt(depot)),
  );
  const extent: CodedExtent = { ...range, parityHexes: [], shards };
  const plain =
    start === 0 ? [] : [{ start: 0, end: start, replicas: [0, 1, 2, 3, 4, 5].map(replicaAt) }];
  const exnode: Exnode = {
    ...{ name: 'a', size: end, root: '', extents: plain, coded: [extent] },
    blocks: { algorithm: 'sha256', pieceBytes: 2, hexes: [] },
  };
  return { exnode, extent };
}

const depotIn = ({ read }: ExnodeReplica) => Number(new URL(read).host[1]);

describe('a coded extent', () => {
  test('has each of its blocks in one column of one shard', () => {
    fc.assert(
      fc.property(drawn, (one) => {
        const { extent } = exnodeOf(one);
        const found: number[] = [];
        for (let column = 0; column < columnsOf(extent, 2); column++) {
          const { start, end } = columnRange(extent, 2, column);
          expect(end).toBeGreaterThan(start);
          for (let shard = 0; shard < extent.data; shard++) {
            const block = blockInColumn(extent, 2, shard, column);
            if (block === undefined) continue;
            found.push(block.start);
            expect(columnAt(extent, 2, block.start)).toBe(column);
            const unit = unitsOf(extent, shard).find(
              (u) => u.start <= block.start && block.end <= u.end,
            );
            expect((unit?.at ?? NaN) + block.start - (unit?.start ?? NaN)).toBe(start);
            expect(block.end - block.start).toBeLessThanOrEqual(end - start);
          }
        }
        const count = Math.ceil((extent.end - extent.start) / 2);
        expect(found.sort((a, b) => a - b)).toEqual(
          Array.from({ length: count }, (_, i) => extent.start + 2 * i),
        );
      }),
    );
  });

  test('is complete as long as any k shards are left, and the layout says how many depots may fail', () => {
    fc.assert(
      fc.property(drawn, (one) => {
        const { exnode, extent } = exnodeOf(one);
        const survives = (failed: number) => {
          const left = (replica: ExnodeReplica) => (failed & (1 << depotIn(replica))) === 0;
          const dead = extent.shards.filter(
            (shard, i) => shardBytes(extent, i) > 0 && !shard.some(left),
          );
          const isThere = dead.length <= extent.parity;
          expect(coverage(exnode, left).covers(extent)).toBe(
            isThere || dead.every((shard) => extent.shards.indexOf(shard) >= extent.data),
          );
          return isThere;
        };
        const { mayFail, missing } = layoutOf(exnode, () => true);
        const fatal = Array.from({ length: 63 }, (_, failed) => failed).filter((f) => !survives(f));
        const exact =
          Math.min(...fatal.map((f) => f.toString(2).replaceAll('0', '').length), 6) - 1;
        if (survives(0)) expect(missing).toEqual([]);
        const isExact = survives(0) && extent.shards.every(({ length }) => length < 2);
        if (isExact) expect(mayFail).toBe(exact);
        else expect(mayFail).toBeLessThanOrEqual(Math.max(0, exact));
      }),
    );
  });

  test('keeps k shards in a trim, however many others go', () => {
    const layout = { data: 2, parity: 2, unit: 1, blocks: 8, start: 0 };
    const { exnode } = exnodeOf({ layout, places: [[0], [1], [2], [3]] });
    const there = new Map(
      exnode.coded?.[0]?.shards.flat().map((replica) => [replica, { state: 'there' } as const]),
    );
    const trim = (...depots: number[]) =>
      planTrim(exnode, there, {
        ...{ expired: false, damaged: false },
        depots: depots.map((depot) => `http://d${depot}.example`),
      });
    expect(trim(0, 3).length).toBe(2);
    expect(() => trim(0, 1, 3)).toThrow(/bytes 0-/);
  });
});
