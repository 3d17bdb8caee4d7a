import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Digest } from '../../base/digest.ts';
import { mergeStatements, orderReplicas, type Statement } from './description-merge.ts';

const digest = (algorithm: Digest['algorithm'], hex: string): Digest => ({ algorithm, hex });
const pieces = (pieceBytes: number, ...hexes: string[]) => ({
  algorithm: 'md5' as const,
  pieceBytes,
  hexes,
});

describe('statements about a file', () => {
  test('are merged into the sum of their facts', () => {
    expect(
      mergeStatements([
        { by: '--checksum', digests: [digest('sha256', 'aa')] },
        {
          by: 'f.meta4',
          size: 9,
          digests: [digest('md5', 'bb'), digest('sha256', 'aa')],
          pieces: [pieces(5, 'c', 'd')],
          replicas: [
            { url: 'http://a/', priority: 2 },
            { url: 'http://b/', priority: 1 },
          ],
        },
        {
          by: 'http://a/',
          size: 9,
          pieces: [pieces(5, 'c', 'd'), pieces(9, 'e')],
          replicas: [{ url: 'http://a/', priority: 1, location: 'de' }],
        },
      ]),
    ).toEqual({
      size: 9,
      digests: [digest('sha256', 'aa'), digest('md5', 'bb')],
      pieces: [pieces(5, 'c', 'd'), pieces(9, 'e')],
      replicas: [
        { url: 'http://a/', priority: 1 },
        { url: 'http://b/', priority: 1 },
      ],
    });
    expect(mergeStatements([])).toEqual({
      size: undefined,
      digests: [],
      pieces: [],
      replicas: [],
    });
  });

  test.each<[Omit<Statement, 'by'>, Omit<Statement, 'by'>, string]>([
    [
      { digests: [digest('sha256', 'aa')] },
      { digests: [digest('md5', 'aa'), digest('sha256', 'bb')] },
      'ONE says sha-256=aa, TWO says sha-256=bb',
    ],
    [{ size: 9 }, { size: 8 }, 'ONE says 9 bytes, TWO says 8'],
    [{ size: 0 }, { size: 8 }, 'ONE says 0 bytes, TWO says 8'],
    [
      { pieces: [pieces(5, 'a')] },
      { pieces: [pieces(5, 'b')] },
      'ONE and TWO have different digests of pieces of 5 bytes',
    ],
    [{ size: 11 }, { pieces: [pieces(5, 'a', 'b')] }, 'ONE says 11 bytes, TWO has 2 pieces of 5'],
    [{ pieces: [pieces(5, 'a', 'b')] }, { size: 5 }, 'TWO says 5 bytes, ONE has 2 pieces of 5'],
  ])('that contradict each other are refused, naming both (%#)', (one, two, detail) => {
    const agree: Statement = { by: 'NOBODY', digests: [digest('sha1', 'aa')] };
    expect(() =>
      mergeStatements([agree, { by: 'ONE', ...one }, agree, { by: 'TWO', ...two }]),
    ).toThrow(expect.objectContaining({ code: 'contradicting-statements', detail }));
  });

  test('mirrors are listed once, by priority; equal priorities keep their order', () => {
    const replica = fc.record({
      url: fc.constantFrom('http://a/', 'http://b/', 'http://c/', 'http://d/'),
      priority: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(fc.array(replica), (replicas) => {
        const ordered = orderReplicas(replicas);
        const urls = [...new Set(replicas.map(({ url }) => url))];
        const best = (url: string) =>
          Math.min(...replicas.filter((r) => r.url === url).map((r) => r.priority));
        const expected = urls
          .map((url) => ({ url, priority: best(url) }))
          .sort((a, b) => a.priority - b.priority);
        expect(ordered).toEqual(expected);
      }),
    );
  });
});
