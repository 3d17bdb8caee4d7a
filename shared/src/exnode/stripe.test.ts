import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { shardBytes, unitsOf } from './coded.ts';
import { blockBytesFor } from './exnode.ts';
import { Stripe } from './stripe.ts';

const MIB = 2 ** 20;

test('a striped file has each byte once in the data shards, and each depot one shard of each row', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 0, max: 90 * MIB }), fc.integer({ min: 0, max: 2 ** 34 })),
      fc.integer({ min: 1, max: 32 }),
      fc.integer({ min: 1, max: 16 }),
      (size, data, parity) => {
        const stripe = new Stripe(size, data, parity);
        const { extents, rows, unit } = stripe;
        expect(unit % blockBytesFor(size)).toBe(0);
        expect(extents.length).toBeLessThanOrEqual(data + parity);
        const streams = Array.from({ length: data + parity }, () => 0);
        const units: { start: number; end: number }[] = [];
        // There are very many of these: each comparison of its own would take most of the time.
        const gaps: unknown[] = [];
        for (const [e, extent] of extents.entries()) {
          for (let shard = 0; shard < data + parity; shard++) {
            const depot = stripe.depotOf(e, shard);
            const begun = streams[depot];
            if (begun !== stripe.extentAt(e)) gaps.push({ e, shard, depot, begun });
            streams[depot] = (streams[depot] ?? 0) + shardBytes(extent, shard);
            if (shard < data) units.push(...unitsOf(extent, shard));
          }
        }
        let at = 0;
        for (const { start, end } of units.sort((a, b) => a.start - b.start)) {
          if (start !== at) gaps.push({ start, at });
          at = end;
        }
        expect(gaps).toEqual([]);
        expect(at).toBe(size);
        expect(streams).toEqual(streams.map((_, depot) => stripe.streamBytes(depot)));
        for (const row of [0, rows >> 1, rows - 1].filter((one) => one >= 0 && one < rows)) {
          const shards = streams.map((_, depot) => stripe.shardAt(depot, row));
          expect(new Set(shards).size).toBe(data + parity);
          const extent = extents.findIndex(({ end }) => stripe.rowRange(row).start < end);
          expect(shards.map((shard) => stripe.depotOf(extent, shard))).toEqual([...streams.keys()]);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('a file with blocks that are too large to be solved in memory is refused', () => {
  expect(new Stripe(2 ** 38, 4, 2).unit).toBe(16 * MIB);
  expect(() => new Stripe(2 ** 38 + 1, 4, 2)).toThrow(/256 GiB/);
});
