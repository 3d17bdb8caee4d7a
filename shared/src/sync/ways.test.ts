import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../base/clock.ts';
import { type ErrorCode, MillraceError } from '../base/errors.ts';
import { Attempts, rankedEdges, type Way, waysTo } from './ways.ts';

const URL = 'https://example.com/dir/file';
const EDGES = rankedEdges(['http://a/', 'http://b/', 'http://c/', 'http://d/']);

function tries(ways: readonly Way[], codes: readonly ErrorCode[], retryAfterMs?: number) {
  const attempts = new Attempts(ways, seededRandom(1));
  const steps = [];
  for (const code of codes) {
    const step = attempts.next(new MillraceError(code, '', { retryAfterMs }));
    steps.push(step);
    if (step.kind === 'fail') break;
  }
  return steps;
}

describe('ways to a file', () => {
  test('begin with the same edge for all clients, and end with the origin', () => {
    const ways = waysTo(URL, EDGES, true);
    expect(ways).toHaveLength(5);
    expect(ways[0]).toEqual({ edge: ways[1]?.edge, revalidate: false });
    expect(ways.slice(1).every(({ revalidate }) => revalidate)).toBe(true);
    expect(ways.at(-1)?.edge).toBeUndefined();
    expect(waysTo(URL, [...EDGES].reverse(), true)).toEqual(ways);
  });

  test('leave out an origin that may not be asked, unless there is no edge', () => {
    expect(waysTo(URL, EDGES, false).some(({ edge }) => edge === undefined)).toBe(false);
    expect(waysTo(URL, [], false)).toEqual([{ edge: undefined, revalidate: true }]);
  });

  test('spread files over edges', () => {
    const best = Array.from({ length: 400 }, (_, i) => waysTo(`${URL}${i}`, EDGES, true)[0]?.edge);
    for (const { url } of EDGES) {
      expect(best.filter((edge) => edge === url).length).toBeGreaterThan(60);
    }
  });
});

describe('attempts', () => {
  const ways = waysTo(URL, EDGES.slice(0, 2), true);

  test('take the next way at once after wrong content, and report that error at the end', () => {
    const steps = tries(ways, [
      ...['checksum-mismatch', 'precondition-failed', 'origin-not-found'],
      'origin-not-found',
    ] as ErrorCode[]);
    expect(steps.slice(0, 3)).toEqual(
      ways.slice(1).map((way) => ({ kind: 'try', way, afterMs: 0 })),
    );
    expect(steps[3]).toMatchObject({ kind: 'fail', error: { code: 'checksum-mismatch' } });
  });

  test('wait for a busy server, as long as it asks, instead of turning to the origin', () => {
    const steps = tries(ways, ['too-many-requests'], 4000);
    expect(steps).toMatchObject([{ kind: 'try', way: ways[0] }]);
    const afterMs = steps[0]?.kind === 'try' ? steps[0].afterMs : 0;
    expect(afterMs).toBeGreaterThanOrEqual(4000);
    expect(afterMs).toBeLessThan(6000);
  });

  test('start again after growing pauses, and give up in the end', () => {
    const codes = Array<ErrorCode>(100).fill('origin-unreachable');
    const steps = tries(ways, codes);
    expect(steps.at(-1)).toMatchObject({ kind: 'fail', error: { code: 'origin-unreachable' } });
    const pauses = steps.flatMap((s) => (s.kind === 'try' && s.afterMs > 0 ? [s.afterMs] : []));
    expect(pauses).toHaveLength(5);
    expect([...pauses].sort((a, b) => a - b)).toEqual(pauses);
  });

  test('end at once if no other way can help', () => {
    expect(tries(ways, ['disk-full'])).toMatchObject([{ kind: 'fail' }]);
  });
});
