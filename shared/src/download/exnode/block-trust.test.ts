import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../base/clock.ts';
import { BlockTrust } from './block-trust.ts';
import { holdsOf } from './part-holds.ts';

const range = { start: 0, end: 10 };

function trustOf(sources: readonly string[], away: ReadonlySet<string> = new Set()) {
  return new BlockTrust({ holders: () => sources, isUsable: (source) => !away.has(source) });
}

describe('a block with wrong bytes', () => {
  test('of one source convicts it, and the second one ends its use', () => {
    const trust = trustOf(['liar', 'good']);
    expect(trust.onWrong(0, 'liar', ['liar'], [])).toEqual([]);
    expect([trust.mayBring('liar', 0), trust.mayBring('good', 0)]).toEqual([false, true]);
    expect([trust.mayBring('liar', 1), trust.mayBring('good', 1)]).toEqual([true, true]);
    expect(trust.onWrong(5, 'liar', ['liar'], [])).toEqual(['liar']);
  });

  test('of the only source is asked of it again, once', () => {
    const trust = trustOf(['only']);
    expect(trust.onWrong(0, 'only', ['only'], [])).toEqual([]);
    expect(trust.mayBring('only', 0)).toBe(true);
    expect(trust.onRight(0, [])).toEqual([]);
    expect(trust.onWrong(1, 'only', ['only'], [])).toEqual(['only']);
    const again = trustOf(['only']);
    again.onWrong(0, 'only', ['only'], []);
    expect(again.onWrong(0, 'only', ['only'], [])).toEqual(['only']);
  });

  test('of a source that is needed ends its use only if it sends the same block wrong again', () => {
    const options = { holders: () => ['only'], isUsable: () => true, isNeeded: () => true };
    const trust = new BlockTrust(options);
    for (const block of [0, 1, 2, 3]) {
      expect(trust.onWrong(block, 'only', ['only'], [])).toEqual([]);
      expect(trust.onRight(block, [])).toEqual([]);
    }
    trust.onWrong(4, 'only', ['only'], []);
    expect(trust.onWrong(4, 'only', ['only'], [])).toEqual(['only']);
  });

  test('of several sources convicts those that the right bytes differ from', () => {
    const trust = trustOf(['liar', 'good']);
    for (const block of [0, 1]) {
      const given = [
        { source: 'good', range, digest: 'right' },
        { source: 'liar', range, digest: 'wrong' },
      ];
      expect(trust.onWrong(block, undefined, ['liar', 'good'], given)).toEqual([]);
      // One source alone brings it now.
      expect(['liar', 'good'].filter((source) => trust.mayBring(source, block)).length).toBe(1);
      const left = trust.onRight(block, ['right', 'right']);
      expect(left).toEqual(block === 0 ? [] : ['liar']);
      expect(trust.wrong).toEqual([]);
    }
  });

  test('is asked of another source while the chosen one is away, and never of all', () => {
    const away = new Set<string>();
    const trust = trustOf(['a', 'b', 'c'], away);
    trust.onWrong(0, undefined, ['a', 'b'], []);
    expect(trust.mayBring('c', 0)).toBe(true);
    away.add('c');
    expect(['a', 'b', 'c'].map((source) => trust.mayBring(source, 0))).toEqual([
      true,
      false,
      false,
    ]);
    away.add('a').add('b');
    expect(['a', 'b', 'c'].some((source) => trust.mayBring(source, 0))).toBe(false);
  });

  test('is given up in the end, if it comes wrong from several sources again and again', () => {
    const trust = trustOf(['a', 'b']);
    for (let i = 0; i < 15; i++) trust.onWrong(7, undefined, ['a', 'b'], []);
    expect(trust.hopeless()).toBeUndefined();
    trust.onWrong(7, undefined, ['a', 'b'], []);
    expect(trust.hopeless()).toBe(7);
  });

  test('comes right in the end if one source is honest, which is never left, and liars are', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 4 }), (seed, liars) => {
        const random = seededRandom(seed);
        const sources = Array.from({ length: liars }, (_, i) => `liar${i}`);
        sources.splice(Math.floor(random() * (liars + 1)), 0, 'good');
        const left = new Set<string>();
        const trust = trustOf(sources, left);
        const blocks = 12;
        let rounds = 0;
        for (let block = 0; block < blocks; block++) {
          for (let isRight = false; !isRight; ) {
            expect(++rounds).toBeLessThan(200);
            const may = sources.filter((s) => !left.has(s) && trust.mayBring(s, block));
            expect(may.length).toBeGreaterThan(0);
            // Each of the block's two halves comes from any source that may bring it.
            const halves = [0, 1].map(() => may[Math.floor(random() * may.length)] as string);
            const wrong = halves.map((s) => s !== 'good' && random() < 0.9);
            const digests = wrong.map((is) => (is ? 'wrong' : 'right'));
            isRight = !wrong.includes(true);
            const alone = halves[0] === halves[1] ? halves[0] : undefined;
            const given = halves.map((source, i) => ({
              ...{ source, digest: digests[i] as string },
              range: { start: i, end: i + 1 },
            }));
            const found = isRight
              ? trust.onRight(
                  block,
                  trust.suspects(block).map(() => 'right'),
                )
              : trust.onWrong(block, alone, [...new Set(halves)], given);
            for (const source of found) left.add(source);
          }
        }
        expect(left.has('good')).toBe(false);
      }),
    );
  });
});

describe('the parts of a source', () => {
  test('are found one after the other, less what it may not bring', () => {
    const parts = fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 9 })), { maxLength: 8 });
    fc.assert(
      fc.property(parts, parts, fc.nat(80), (drawn, banned, from) => {
        const [have, not] = [drawn, banned].map((list) => {
          let at = 0;
          return list.map(([gap, bytes]) => {
            const start = at + gap;
            at = start + bytes;
            return { start, end: at };
          });
        }) as [{ start: number; end: number }[], { start: number; end: number }[]];
        const holds = holdsOf(
          () => have,
          () => not,
        );
        const has = (position: number) => {
          const within = (r: { start: number; end: number }) =>
            r.start <= position && position < r.end;
          return have.some(within) && !not.some(within);
        };
        for (let at = from; at < 120; ) {
          const run = holds(at);
          const end = run?.end ?? 120;
          for (let position = at; position < end; position++) {
            expect(has(position)).toBe(run !== undefined && position >= run.start);
          }
          if (run === undefined) break;
          expect(run.end).toBeGreaterThan(at);
          // No run reaches into a second part.
          expect(have.some(({ start, end: to }) => start <= run.start && run.end <= to)).toBe(true);
          at = run.end;
        }
      }),
    );
  });
});
