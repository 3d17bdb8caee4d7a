import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Exnode, ExnodeReplica, Extent } from './exnode.ts';
import { isOver, layoutOf } from './layout.ts';

const SIZE = 24;
const exnodeOf = (size: number, extents: readonly Extent[]): Exnode => ({
  ...{ name: 'a', size, root: '', extents },
  blocks: { algorithm: 'sha256', pieceBytes: 1, hexes: [] },
});
const all = () => true;
const bytes = Array.from({ length: SIZE }, (_, byte) => byte);

/** Extents of a small file at up to five depots, whose leases may have an end. */
const drawnExtents = fc.array(
  fc.record({
    start: fc.nat(SIZE - 1),
    length: fc.integer({ min: 1, max: SIZE }),
    places: fc.array(fc.tuple(fc.nat(4), fc.option(fc.nat(9))), { minLength: 1, maxLength: 4 }),
  }),
  { maxLength: 8 },
);

function extentsOf(drawn: typeof drawnExtents extends fc.Arbitrary<infer T> ? T : never): Extent[] {
  return drawn.map(({ start, length, places }) => ({
    ...{ start, end: Math.min(SIZE, start + length) },
    replicas: places.map(
      ([depot, expires]): ExnodeReplica => ({
        ...{ read: `http://d${depot}.example/${start}`, at: 0 },
        ...(expires === null ? {} : { expires }),
      }),
    ),
  }));
}

/** Lists the depots that have a byte. */
function depotsAt(extents: readonly Extent[], byte: number, left: (one: ExnodeReplica) => boolean) {
  const there = extents.filter(({ start, end }) => start <= byte && byte < end);
  const found = there.flatMap(({ replicas }) => replicas.filter(left));
  return new Set(found.map(({ read }) => new URL(read).host));
}

describe('a layout', () => {
  test('says exactly how many depots may fail, whichever these are', () => {
    fc.assert(
      fc.property(drawnExtents, (drawn) => {
        const extents = extentsOf(drawn);
        const { mayFail, missing, weakest } = layoutOf(exnodeOf(SIZE, extents), all);
        const failing = (failed: number) => (replica: ExnodeReplica) =>
          (failed & (1 << Number(new URL(replica.read).host[1]))) === 0;
        const survives = (failed: number) =>
          bytes.every((byte) => depotsAt(extents, byte, failing(failed)).size > 0);
        // All sets of the five depots.
        const fatal = Array.from({ length: 32 }, (_, failed) => failed).filter(
          (failed) => !survives(failed),
        );
        const sizes = fatal.map((failed) => failed.toString(2).replaceAll('0', '').length);
        expect(missing.length > 0).toBe(sizes.includes(0));
        expect(mayFail).toBe(Math.max(0, Math.min(...sizes) - 1));
        const copies = bytes.map((byte) => depotsAt(extents, byte, all).size);
        expect(copies[weakest?.start ?? -1]).toBe(Math.min(...copies));
      }),
    );
  });

  test('names the bytes that nobody has, what each depot has, and when bytes will be missing', () => {
    fc.assert(
      fc.property(drawnExtents, fc.nat(9), (drawn, now) => {
        const extents = extentsOf(drawn);
        const isThere = (replica: ExnodeReplica) => !isOver(replica, now);
        const layout = layoutOf(exnodeOf(SIZE, extents), isThere);
        const lost = bytes.filter((byte) => depotsAt(extents, byte, isThere).size === 0);
        expect(layout.missing.flatMap(({ start, end }) => bytes.slice(start, end))).toEqual(lost);
        for (const share of layout.depots) {
          const host = new URL(share.depot).host;
          const own = bytes.filter((byte) => depotsAt(extents, byte, isThere).has(host));
          expect(share.bytes).toBe(own.length);
        }
        const ends = extents.flatMap(({ replicas }) =>
          replicas.filter(isThere).flatMap(({ expires }) => expires ?? []),
        );
        expect(layout.expires).toBe(ends.length === 0 ? undefined : Math.min(...ends));
        const until = [...new Set(ends)]
          .sort((a, b) => a - b)
          .find((end) =>
            bytes.some((byte) => depotsAt(extents, byte, (r) => !isOver(r, end)).size === 0),
          );
        expect(layout.completeUntil).toBe(lost.length > 0 ? undefined : until);
      }),
    );
  });

  test('of an empty file has nothing that could be lost', () => {
    expect(layoutOf(exnodeOf(0, []), all)).toEqual({
      ...{ extents: 0, depots: [], missing: [], mayFail: 0 },
      ...{ weakest: undefined, expires: undefined, completeUntil: undefined },
    });
  });

  test('of the largest exNode is found soon', () => {
    const extents = Array.from({ length: 16_384 }, (_, i): Extent => {
      const replicas = [0, 1, 2, 3].map((n) => ({
        ...{ read: `http://d${(i + n) % 64}.example/${i}`, at: 0, expires: i + n },
      }));
      return { start: i, end: 16_384 + i, replicas };
    });
    const { mayFail, missing } = layoutOf(exnodeOf(32_768, extents), all);
    expect([mayFail, missing]).toEqual([0, [{ start: 32_767, end: 32_768 }]]);
  });
});
