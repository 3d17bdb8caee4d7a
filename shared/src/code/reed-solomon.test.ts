import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { simdKernel } from '../../node/code/gf-kernel.ts';
import { inverse, inverted, product, times } from './gf256.ts';
import { type Kernel, TABLE_KERNEL } from './kernel.ts';
import { MAX_DATA, MAX_PARITY, ReedSolomon } from './reed-solomon.ts';
import { VECTORS } from './testing/vectors.ts';

const SIMD = simdKernel();
const KERNELS: [string, Kernel][] = [
  ['tables', TABLE_KERNEL],
  ...(SIMD === undefined ? [] : [['vector instructions', SIMD] as [string, Kernel]]),
];

test('elements have inverses, and matrices of them too', () => {
  for (let a = 1; a < 256; a++) expect(times(a, inverse(a))).toBe(1);
  expect(() => inverted([Uint8Array.of(1, 2), Uint8Array.of(2, 4)])).toThrow(RangeError);
  const matrix = [Uint8Array.of(0, 3), Uint8Array.of(7, 1)];
  expect(product(matrix, inverted(matrix))).toEqual([Uint8Array.of(1, 0), Uint8Array.of(0, 1)]);
});

test('this machine has the vector instructions, so both kernels are tested', () => {
  expect(SIMD).toBeDefined();
});

describe.each(KERNELS)('with %s', (_, kernel) => {
  test('parity is that of another implementation', () => {
    for (const { k, m, first, sha256 } of VECTORS) {
      const data = Array.from({ length: k }, (_, i) =>
        Uint8Array.from({ length: 16 }, (_, j) => 31 * i + 7 * j + 13 * i * j + 1),
      );
      const parity = Array.from({ length: m }, () => new Uint8Array(16));
      new ReedSolomon(k, m, kernel).encode(data, parity);
      if (first !== undefined) expect(Buffer.from(parity[0] ?? []).toString('hex')).toBe(first);
      expect(createHash('sha256').update(Buffer.concat(parity)).digest('hex')).toBe(sha256);
    }
  });

  test('any k shards tell all others, short ones included', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: MAX_DATA }),
        fc.integer({ min: 1, max: MAX_PARITY }),
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer(),
        fc.infiniteStream(fc.nat()),
        (k, m, length, seed, chance) => {
          const draw = () => chance.next().value as number;
          const code = new ReedSolomon(k, m, kernel);
          // The last ones may be short, or empty.
          let left = length;
          const data = Array.from({ length: k }, (_, i) => {
            const own = i === 0 ? length : Math.min(left, draw() % (length + 1));
            left = own;
            return Uint8Array.from(
              { length: own },
              (_, j) => (seed * (i + 3) + j * j * 7 + j) >> 2,
            );
          });
          const parity = Array.from({ length: m }, () => new Uint8Array(length).fill(9));
          code.encode(data, parity);
          const shards = [...data, ...parity].map((bytes, index) => ({ bytes, index }));
          const known = shards
            .map((shard) => ({ shard, rank: draw() }))
            .sort((a, b) => a.rank - b.rank)
            .slice(0, k)
            .map(({ shard }) => shard);
          const lost = shards.filter((shard) => !known.includes(shard));
          const wanted = lost.map(({ index }) => ({ index, bytes: new Uint8Array(length) }));
          code.solve(known, wanted);
          for (const [i, { bytes }] of lost.entries()) {
            const padded = new Uint8Array(length);
            padded.set(bytes);
            expect(Buffer.compare(wanted[i]?.bytes ?? new Uint8Array(), padded)).toBe(0);
          }
          expect(() => code.solve(known.slice(1), wanted)).toThrow(RangeError);
        },
      ),
      { numRuns: 60 },
    );
  });
});
