import { describe, expect, test } from '@jest/globals';
import { isBusy, statusError } from './status-error.ts';

describe('statusError', () => {
  test.each([
    [404, 'origin-not-found'],
    [410, 'origin-gone'],
    [401, 'origin-denied'],
    [403, 'origin-denied'],
    [451, 'origin-denied'],
    [500, 'origin-error'],
    [502, 'origin-error'],
    [504, 'origin-error'],
    [429, 'origin-busy'],
    [503, 'origin-busy'],
    // The file exists, and may be available as a whole.
    [416, 'range-ignored'],
    // A script that has failed, or has not made the file yet.
    [202, 'origin-error'],
    [204, 'origin-error'],
    [205, 'origin-error'],
    // Waiting does not help with these.
    [299, 'malformed-response'],
    [304, 'malformed-response'],
    [399, 'malformed-response'],
  ])('%d is %s', (status, code) => {
    expect(statusError(status)).toMatchObject({ code, detail: `it answered ${status}` });
  });

  test('only the statuses of a busy server keep its Retry-After', () => {
    for (const status of [404, 416, 429, 500, 503]) {
      const { retryAfterMs } = statusError(status, 7000);
      expect([status, retryAfterMs]).toEqual([status, isBusy(status) ? 7000 : undefined]);
    }
  });
});
