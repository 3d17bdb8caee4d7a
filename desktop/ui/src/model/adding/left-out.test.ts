import { describe, expect, test } from '@jest/globals';
import type { ProbedLink } from '@millrace/shared/bridge/rpc/adding-api';
import { afterAnswers, afterChoice, leftAfter, NOTHING_LEFT_OUT } from './left-out.ts';

const good: ProbedLink = { resumable: true, length: 500 };
const bad = (problem: string): ProbedLink => ({ resumable: false, problem });
const one = (answer: ProbedLink) => new Map([['u', answer]]);

describe('a link that a server was asked about', () => {
  test.each(['origin-not-found', 'origin-gone', 'origin-unknown', 'origin-refused'])(
    'is unchecked after %s',
    (problem) => {
      expect(afterAnswers(NOTHING_LEFT_OUT, one(bad(problem))).out).toEqual(['u']);
    },
  );

  test.each([
    'origin-timeout',
    'origin-error',
    'origin-busy',
    'origin-login',
    'origin-denied',
    'x',
  ])('stays checked after %s, which may pass or need a log-in', (problem) => {
    expect(afterAnswers(NOTHING_LEFT_OUT, one(bad(problem))).out).toEqual([]);
  });

  test('is unchecked if its file is here, and stays checked otherwise', () => {
    expect(afterAnswers(NOTHING_LEFT_OUT, one({ ...good, here: 'folder' })).out).toEqual(['u']);
    expect(afterAnswers(NOTHING_LEFT_OUT, one(good))).toMatchObject({ out: [], back: [] });
  });

  test('is unchecked once: the same answer does not uncheck it again', () => {
    const { leftOut } = afterAnswers(NOTHING_LEFT_OUT, one(bad('origin-gone')));
    expect(afterAnswers(leftOut, one(bad('origin-gone')))).toMatchObject({ out: [], back: [] });
  });

  test('is checked again once its server has the file, but not while that is unknown', () => {
    const { leftOut } = afterAnswers(NOTHING_LEFT_OUT, one(bad('origin-refused')));
    expect(afterAnswers(leftOut, new Map())).toMatchObject({ out: [], back: [] });
    expect(afterAnswers(leftOut, one(bad('origin-timeout')))).toMatchObject({ out: [], back: [] });
    expect(afterAnswers(leftOut, one(good))).toMatchObject({ out: [], back: ['u'] });
  });

  test('stays as the user has left it, whatever its server answers before or after', () => {
    const chosen = afterChoice(NOTHING_LEFT_OUT, ['u']);
    expect(afterAnswers(chosen, one(bad('origin-gone'))).out).toEqual([]);
    const { leftOut } = afterAnswers(NOTHING_LEFT_OUT, one(bad('origin-gone')));
    expect(afterAnswers(afterChoice(leftOut, ['u']), one(good)).back).toEqual([]);
  });
});

test('a click changes its link alone, although an answer has just unchecked another one', () => {
  const left = new Set(['by-answer']);
  expect(leftAfter(left, ['clicked'], false)).toEqual(new Set(['by-answer', 'clicked']));
  expect(leftAfter(new Set(['by-answer', 'clicked']), ['clicked'], true)).toEqual(left);
  expect(leftAfter(left, ['by-answer'], false)).toEqual(left);
});
