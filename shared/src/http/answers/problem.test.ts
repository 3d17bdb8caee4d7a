import { describe, expect, test } from '@jest/globals';
import { ERRORS, type ErrorCode, MillraceError } from '../../base/errors.ts';
import {
  PROBLEM_TYPE,
  problemError,
  readProblem,
  readSourceProblem,
  toProblem,
} from './problem.ts';

describe('problem documents', () => {
  test('say what happened, with details, and what to do', () => {
    expect(toProblem(new MillraceError('origin-error', 'it answered 500'))).toEqual({
      type: 'urn:millrace:error:origin-error',
      title: 'The origin answered with an error',
      status: 502,
      detail:
        'It answered 500. Try again later; if that does not help, tell the owner of the origin.',
      code: 'origin-error',
      reason: 'it answered 500',
      retryable: true,
    });
  });

  test.each([
    ['text/html', /^text\/html\. /],
    ['localhost:18080', /^localhost:18080\. /],
    ['example.com, port 1', /^example\.com, /],
    ['port 1 is of another protocol', /^Port 1 is /],
  ])(
    'begin with a capital letter, but not if that would change the meaning: %s',
    (detail, text) => {
      expect(toProblem(new MillraceError('origin-not-allowed', detail)).detail).toMatch(text);
    },
  );

  test('say what to do even without details', () => {
    const problem = toProblem(new MillraceError('draining'));
    expect(problem.detail).toBe('Use another edge, or try again in a moment.');
    expect(problem.reason).toBe('');
  });

  test.each(Object.keys(ERRORS) as ErrorCode[])('match the row of the table for %s', (code) => {
    const { type, status, title, retryable } = toProblem(new MillraceError(code, 'x'));
    expect(new URL(type).href).toBe(type);
    expect({ status, title, retryable }).toEqual({
      status: ERRORS[code].status,
      title: ERRORS[code].title,
      retryable: ERRORS[code].retryable,
    });
  });

  test('do not reveal the cause', () => {
    const error = new MillraceError('internal', '', { cause: new Error('secret') });
    expect(JSON.stringify(toProblem(error))).not.toContain('secret');
    expect(PROBLEM_TYPE).toBe('application/problem+json');
  });
});

describe('an error that a node reports', () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])('%s is read as it was written', (code) => {
    const text = JSON.stringify(toProblem(new MillraceError(code, 'why')));
    const read = readProblem(text, 5000);
    expect(read).toEqual(new MillraceError(code, 'why'));
    expect([read?.code, read?.detail, read?.retryAfterMs]).toEqual([code, 'why', 5000]);
  });

  test.each(['disk-full', 'internal', 'interrupted', 'file-changed', 'queue-full'] as const)(
    'about its own machine (%s) counts as a failure of that node only',
    (code) => {
      const text = JSON.stringify(toProblem(new MillraceError(code, '/var/cache')));
      const error = readSourceProblem(text, 5000);
      expect([error?.code, error?.detail, error?.retryAfterMs]).toEqual([
        'origin-error',
        ERRORS[code].title,
        5000,
      ]);
    },
  );

  test('about the file, the request or its load is kept as it is', () => {
    for (const [code, { scope }] of Object.entries(ERRORS)) {
      if (scope === 'download') continue;
      expect(readSourceProblem(JSON.stringify({ code }))?.code).toBe(code);
    }
  });

  test.each([
    ['', '{', 'null', '7', '[]', '"disk-full"', '{}'],
    ['{"code":"toString"}', '{"code":{"toString":null}}', '{"code":7}', '{"code":["draining"]}'],
  ])('is undefined if it names no error of the table', (...texts) => {
    for (const text of texts) expect(readProblem(text)).toBeUndefined();
  });

  test('has no detail if its reason is not text', () => {
    for (const reason of [undefined, null, 7, { toString: null }, ['x']]) {
      expect(problemError({ code: 'draining', reason })?.detail).toBe('');
    }
  });
});
