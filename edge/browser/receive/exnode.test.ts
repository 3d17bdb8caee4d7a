/** The page's own reader of exNodes is as strict as the shared one, which browsers cannot import. */

import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { columnsOf } from '@millrace/shared/exnode/coded';
import type { ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { bytesOfHex, type Exnode, rootOf } from '@millrace/shared/exnode/exnode';
import { formatExnode, parseExnode } from '@millrace/shared/exnode/exnode-text';
import { placesOf } from '@millrace/shared/exnode/places';
import fc from 'fast-check';
import { MAX_DOCUMENT, readDescription, rootBytes } from './exnode.js';
import { Failure } from './failure.js';

const MIB = 1024 * 1024;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const LATER = Date.parse('2099-01-01T00:00:00.000Z');

/** Makes an exNode of so many blocks, the last one short, in plain and coded extents. */
function made(count: number, isCoded: boolean, replicas: number): Exnode {
  const hexes = Array.from({ length: count }, (_, i) => sha256(Buffer.from(`${i}`)));
  const size = Math.max(0, count * MIB - 7);
  const blocks = { algorithm: 'sha256' as const, pieceBytes: MIB, hexes };
  const listed = (what: string): ExnodeReplica[] =>
    Array.from({ length: replicas }, (_, i) => ({
      ...{ read: `https://d${i}.example/-/d/${what}`, at: 5, expires: LATER },
    }));
  const range = { start: 0, end: size };
  const layout = { ...range, data: 2, parity: 1, unit: 2 * MIB };
  const columns = columnsOf(layout, MIB);
  const coded = {
    ...layout,
    parityHexes: [Array.from({ length: columns }, () => sha256(Buffer.of(1)))],
    shards: ['a', 'b', 'p'].map((one, i) => (i === 1 && count <= 2 ? [] : listed(one))),
  };
  return {
    ...{ name: 'encrypted', type: 'application/octet-stream', size, blocks },
    root: rootOf(size, blocks, sha256),
    sealed: Buffer.alloc(100, 7).toString('base64'),
    extents: isCoded || size === 0 ? [] : [{ ...range, replicas: listed('w') }],
    coded: isCoded && size > 0 ? [coded] : undefined,
  };
}

const anExnode = fc
  .tuple(fc.integer({ min: 0, max: 9 }), fc.boolean(), fc.integer({ min: 1, max: 3 }))
  .map(([count, isCoded, replicas]) => made(count, isCoded, replicas));

test('a description says what the exNode says', () => {
  fc.assert(
    fc.property(anExnode, (exnode) => {
      const text = formatExnode(exnode, true);
      const known = parseExnode(text, sha256);
      const read = readDescription(text);
      const { size, blockBytes, root } = read;
      expect({ size, blockBytes, root }).toEqual({
        ...{ size: known.size, blockBytes: known.blocks.pieceBytes, root: known.root },
      });
      expect(sha256(rootBytes(read))).toBe(known.root);
      expect(Buffer.from(read.digests)).toEqual(
        Buffer.concat(known.blocks.hexes.map((hex) => bytesOfHex(hex))),
      );
      const parts = placesOf(known, 0).flatMap((place) => place.parts);
      const inOrder = <T extends { start: number; url: string }>(list: readonly T[]) =>
        [...list].sort((a, b) => a.start - b.start || (a.url < b.url ? -1 : 1));
      expect(inOrder(read.parts)).toEqual(
        inOrder(parts).map((part) => ({ ...part, expires: LATER })),
      );
    }),
  );
});

/** Values that a stranger may put anywhere. */
const odd = fc.constantFrom<unknown>(
  ...[undefined, null, 0, 1, -1, 0.5, 2 ** 53, '', 'A', 'AA==', [], [[]], {}, true, MIB, 3 * MIB],
  ...['https://a:b@c/', 'ftp://a/', 'http://', { read: 'https://a.example/' }, ['sealed'], ['x']],
);

/** Lists the places of all values in a document, each as the way to it. */
function waysIn(value: unknown, way: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [[...way]];
  const inside = Object.entries(value).flatMap(([key, one]) => waysIn(one, [...way, key]));
  return way.length === 0 ? inside : [[...way], ...inside];
}

test('what the page takes, the shared reader takes as well', () => {
  let taken = 0;
  fc.assert(
    fc.property(anExnode, fc.nat(), odd, (exnode, place, value) => {
      const document = JSON.parse(formatExnode(exnode, true));
      const ways = waysIn(document);
      const way = ways[place % ways.length] as string[];
      // biome-ignore lint/suspicious/noExplicitAny: a document, which is damaged
      let inside: any = document;
      for (const key of way.slice(0, -1)) inside = inside[key];
      const last = way.at(-1) as string;
      if (value === undefined) delete inside[last];
      else inside[last] = value;
      const text = JSON.stringify(document);
      try {
        readDescription(text);
      } catch (error) {
        expect(error).toBeInstanceOf(Failure);
        expect((error as Failure).kind).toBe('bad-exnode');
        return;
      }
      taken++;
      try {
        parseExnode(text, sha256);
      } catch (error) {
        // The page computes the root with the browser's cryptography, after this.
        expect(String(error)).toMatch(/root|parityDigests/);
      }
    }),
    { numRuns: 2000 },
  );
  expect(taken).toBeGreaterThan(20);
});

test('documents without bounds are refused', () => {
  const text = formatExnode(made(4, false, 1), true);
  const changed = (change: Record<string, unknown>) =>
    JSON.stringify({ ...JSON.parse(text), ...change });
  const extent = JSON.parse(text).extents[0];
  const many = Array.from({ length: 64 }, () => extent.shards[0][0]);
  const wide = { ...extent, shards: [many] };
  const codes = { ...extent, data: 2, parity: 1, unit: MIB, shards: [many, many, many] };
  for (const bad of [
    ' '.repeat(MAX_DOCUMENT + 1),
    '['.repeat(1_000_000),
    text.slice(0, -10),
    changed({ exnode: 2 }),
    changed({ requires: ['sealed', 'folding'] }),
    changed({ sealed: undefined }),
    changed({ size: 2 ** 49 }),
    changed({ blockBytes: MIB + 1 }),
    changed({ extents: Array.from({ length: 16_385 }, () => extent) }),
    changed({ extents: Array.from({ length: 1100 }, () => wide) }),
    changed({ extents: Array.from({ length: 1500 }, () => codes) }),
    changed({ extents: [{ ...extent, shards: [[...many, ...many]] }] }),
    changed({ extents: [{ ...extent, length: extent.length + 1 }] }),
    changed({ extents: [{ ...extent, start: 1 }] }),
  ]) {
    expect(() => readDescription(bad)).toThrow('bad-exnode');
  }
});
