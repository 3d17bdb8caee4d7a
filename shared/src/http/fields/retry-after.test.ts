import { describe, expect, test } from '@jest/globals';
import { parseRetryAfter } from './retry-after.ts';

const NOW = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('Retry-After', () => {
  test.each([
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5000],
    ['999999999', 999_999_999_000],
    ['Sun, 06 Nov 1994 08:50:37 GMT', 60_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Sat, 05 Nov 1994 08:49:37 GMT', 0],
    ['Sun Nov  6 08:50:37 1994', 60_000],
  ])('%j means %d ms', (value, ms) => {
    expect(parseRetryAfter(value, NOW)).toBe(ms);
  });

  test.each([undefined, '', '-1', '1.5', '5s', '1e3', 'soon', '5, 6', '9'.repeat(30)])(
    '%j is ignored',
    (value) => {
      expect(parseRetryAfter(value, NOW)).toBeUndefined();
    },
  );
});
