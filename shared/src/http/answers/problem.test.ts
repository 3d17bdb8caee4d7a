import { describe, expect, test } from '@jest/globals';
import { ERRORS, type ErrorCode, MillraceError } from '../../base/errors.ts';
import { PROBLEM_TYPE, toProblem } from './problem.ts';

describe('problem documents', () => {
  test('say what happened, what is particular to it, and what to do', () => {
    expect(toProblem(new MillraceError('origin-error', 'it answered 500'))).toEqual({
      type: 'urn:millrace:error:origin-error',
      title: 'The origin answered with an error',
      status: 502,
      detail: 'It answered 500. Try again later; if it stays, tell the owner of the origin.',
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
    'begin with a capital letter, but not where that changes what is meant: %s',
    (detail, text) => {
      expect(toProblem(new MillraceError('origin-not-allowed', detail)).detail).toMatch(text);
    },
  );

  test('say what to do where nothing is particular', () => {
    const problem = toProblem(new MillraceError('draining'));
    expect(problem.detail).toBe('Use another edge, or try again in a moment.');
    expect(problem.reason).toBe('');
  });

  test.each(Object.keys(ERRORS) as ErrorCode[])('the one of %s follows its row', (code) => {
    const { type, status, title, retryable } = toProblem(new MillraceError(code, 'x'));
    expect(new URL(type).href).toBe(type);
    expect({ status, title, retryable }).toEqual({
      status: ERRORS[code].status,
      title: ERRORS[code].title,
      retryable: ERRORS[code].retryable,
    });
  });

  test('tell nothing of the cause', () => {
    const error = new MillraceError('internal', '', { cause: new Error('secret') });
    expect(JSON.stringify(toProblem(error))).not.toContain('secret');
    expect(PROBLEM_TYPE).toBe('application/problem+json');
  });
});
