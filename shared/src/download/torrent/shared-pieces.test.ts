import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { testSeed } from '../../../node/testing/test-seed.ts';
import { seededRandom } from '../../base/clock.ts';
import type { SharedPiece } from '../metalink/description.ts';
import {
  afterLook,
  afterWrong,
  coverOf,
  type Holder,
  type Known,
  sharedPieces,
} from './shared-pieces.ts';
import { severalV1 } from './testing/torrents.ts';
import { parseTorrent } from './torrent.ts';

const INFO = 'a'.repeat(40);

/** Returns what the files share, for files by their lengths; negative: padding. */
function sharedOf(lengths: readonly number[], pieceBytes = 10): SharedPiece[][] {
  const files = lengths.map((length) => ({ length: Math.abs(length), isZeros: length < 0 }));
  const hexes = Array.from({ length: 99 }, (_, i) => String(i));
  return sharedPieces(files, pieceBytes, hexes, INFO);
}

function holder(part: SharedPiece, more: Partial<Holder> = {}): Holder {
  const usual = { state: 'complete', isProven: false, again: 0, sources: 1 } as const;
  return { gid: `${part.at}`, part, ...usual, ...more };
}

/** Returns the parts of a piece. */
function partsOf(shared: readonly (readonly SharedPiece[])[], number: number): SharedPiece[] {
  return shared.flat().filter(({ key }) => key === `${INFO}:${number}`);
}

describe('the shared pieces of files', () => {
  test('are at their borders, and none for files that end where pieces end', () => {
    const [a, b, c] = sharedOf([10, 25, 5]);
    expect(a).toEqual([]);
    const same = { key: `${INFO}:3`, hex: '3', bytes: 10, before: 0, after: 0 };
    expect(b).toEqual([{ ...same, at: 0, start: 20, end: 25 }]);
    expect(c).toEqual([{ ...same, at: 5, start: 0, end: 5 }]);
  });

  test('of files smaller than a piece are one, which many share', () => {
    const shared = sharedOf([3, 3, 0, 3]);
    expect(shared.map((parts) => parts.map(({ at }) => at))).toEqual([[0], [3], [], [6]]);
    expect(shared[0]?.[0]).toMatchObject({ bytes: 9 });
  });

  test('count padding as zeros, within the piece only', () => {
    const [first, , second] = sharedOf([4, -16, 5]);
    expect(first).toMatchObject([{ key: `${INFO}:0`, at: 0, after: 6, before: 0 }]);
    expect(second).toEqual([]);
    expect(sharedOf([4, -3, 3])[2]).toMatchObject([{ at: 7, before: 3 }]);
  });

  test('cover all bytes of their pieces, whatever the lengths are', () => {
    const seed = testSeed('shared pieces');
    const random = seededRandom(seed);
    for (let round = 0; round < 300; round++) {
      const count = 1 + Math.floor(random() * 7);
      const lengths = Array.from({ length: count }, () => Math.floor(random() * 35) - 8);
      const shared = sharedOf(lengths);
      for (const key of new Set(shared.flat().map((part) => part.key))) {
        const parts = shared.flat().filter((part) => part.key === key);
        const cover = coverOf(parts.map((part) => holder(part)).reverse());
        if (cover.kind !== 'whole') throw new Error(`${lengths} ${key}: ${cover.kind}`);
        const bytes = cover.stretches.map((one) =>
          'zeros' in one ? one.zeros : one.holder.part.end - one.holder.part.start,
        );
        expect(bytes.reduce((sum, n) => sum + n, 0)).toBe(parts[0]?.bytes);
      }
    }
  });

  test('come with the files of a torrent of version 1', () => {
    const hashOf = (name: string, bytes: Uint8Array) => createHash(name).update(bytes).digest();
    const files = [1000, 1100, 500].map((length, i) => ({
      ...{ name: `${i}.bin`, content: new Uint8Array(length).fill(i + 1) },
      isPadding: false,
    }));
    const zeros = { name: 'pad', content: new Uint8Array(472), isPadding: true };
    const seeds = ['http://h.example/'];
    const document = severalV1('f', [...files, zeros], 1024, seeds, (b) => hashOf('sha1', b));
    const torrent = parseTorrent(document, hashOf);
    const shared = torrent.files.map((file) => file.shared ?? []);
    expect(shared.map((parts) => parts.map(({ start, end }) => [start, end]))).toEqual([
      ...[
        [[0, 1000]],
        [
          [0, 24],
          [1048, 1100],
        ],
        [[0, 500]],
      ],
    ]);
    const [last] = shared[2] as [SharedPiece];
    expect(last).toMatchObject({ key: `${torrent.infoHashes.v1}:2`, at: 52, after: 472 });
    const piece = [...files.flatMap(({ content }) => [...content]), ...zeros.content].slice(2048);
    expect(last.hex).toBe(Buffer.from(hashOf('sha1', Uint8Array.from(piece))).toString('hex'));
  });
});

describe('a piece', () => {
  const [a, b, c] = partsOf(sharedOf([3, 3, 4]), 0) as [SharedPiece, SharedPiece, SharedPiece];

  test('is whole once all its files are complete, waits while one comes, and lacks what nobody fetches', () => {
    const coming = holder(b, { state: 'coming' });
    const failed = holder(b, { state: 'failed' });
    expect(coverOf([holder(c), holder(a), holder(b)]).kind).toBe('whole');
    expect(coverOf([holder(a), coming, holder(c)]).kind).toBe('waits');
    expect(coverOf([holder(a), failed, holder(c)]).kind).toBe('lacks');
    expect(coverOf([holder(a), holder(c)]).kind).toBe('lacks');
    expect(coverOf([holder(a), holder(b)]).kind).toBe('lacks');
    expect(coverOf([]).kind).toBe('lacks');
  });

  test('takes the first of two downloads of the same file', () => {
    const older = holder(b, { gid: 'older', state: 'failed' });
    const cover = coverOf([holder(a), holder(b), older, holder(c)]);
    expect(cover).toMatchObject({ kind: 'whole', stretches: { length: 3 } });
  });

  test('that is wrong is fetched again once per source, three times at most, then its files fail', () => {
    const again = (times: number, sources: number) =>
      afterWrong([a, b].map((part) => holder(part, { again: times, sources }))).kind;
    expect([again(0, 1), again(1, 1), again(1, 2), again(2, 2)]).toEqual([
      ...['again', 'fail', 'again', 'fail'],
    ]);
    expect([again(2, 9), again(3, 9)]).toEqual(['again', 'fail']);
  });

  test('gives a file its turn that was complete while the other one was fetched again', () => {
    const step = afterWrong([holder(a, { again: 3 }), holder(b)]);
    expect(step).toMatchObject({ kind: 'again', holders: { length: 2 } });
  });

  test('that is wrong puts no file in doubt that a digest of its own has proven', () => {
    const step = afterWrong([holder(a, { isProven: true }), holder(b)]);
    expect(step).toMatchObject({ kind: 'again', holders: [{ part: b }] });
    expect(afterWrong([holder(a, { isProven: true })])).toEqual({ kind: 'contradicts' });
  });
});

describe('the log of a file', () => {
  const part = { hex: 'a', bytes: 100, at: 0, before: 0, after: 0 };
  const shared = [
    { ...part, key: 'first', start: 0, end: 7 },
    { ...part, key: 'last', start: 50, end: 53 },
  ];
  /** Adds findings one after the other. @returns what the log says of each */
  function logOf(...found: [string, 'right' | 'unchecked' | 'contradicts'][]): string[][] {
    let known: Known = { said: [], right: [] };
    return found.map(([key, what]) => {
      const look = afterLook(shared, known, key, what);
      known = look.known;
      return look.told.map(({ note, bytes }) => `${note} ${bytes}`);
    });
  }

  test('says that shared bytes are right only once all of them are checked, and once only', () => {
    expect(logOf(['last', 'right'], ['first', 'right'], ['first', 'right'])).toEqual([
      ...[[], ['shared-right 10'], []],
    ]);
  });

  test('says which bytes cannot be checked, and then that the others are right', () => {
    const [first, second, third] = logOf(
      ['last', 'unchecked'],
      ['first', 'right'],
      ['last', 'unchecked'],
    );
    expect([first, second, third]).toEqual([['shared-unchecked 3'], ['shared-right 7'], []]);
  });

  test('corrects itself when a piece can be checked after all', () => {
    expect(logOf(['last', 'unchecked'], ['first', 'contradicts'], ['last', 'right'])).toEqual([
      ...[['shared-unchecked 3'], ['shared-contradicts 7'], ['shared-right 3']],
    ]);
  });
});
