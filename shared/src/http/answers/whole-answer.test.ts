import { describe, expect, test } from '@jest/globals';
import { readFreshness, withTimes } from './freshness.ts';
import { whyNotStreamed } from './whole-answer.ts';

describe('a whole answer', () => {
  const chunked = { 'transfer-encoding': 'chunked' };
  test.each([
    ['with a lifetime', { ...chunked, 'cache-control': 'max-age=60' }, undefined, undefined],
    ['with a weak tag', { ...chunked, etag: 'W/"a"' }, undefined, undefined],
    ['with a date', { 'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 5, undefined],
    ['that nothing describes', chunked, undefined, 'no-ranges'],
    ['that the connection ends', { etag: '"a"' }, undefined, 'no-end'],
    ['that is too large', { etag: '"a"' }, 101, 'too-large'],
    ['for one client', { ...chunked, etag: '"a"', 'cache-control': 'private' }, 5, 'private'],
    ['with events', { ...chunked, etag: '"a"', 'content-type': 'text/event-stream' }, 5, 'events'],
  ])('%s', (_name, headers, length, reason) => {
    expect(whyNotStreamed(headers, length, 100, readFreshness(headers, 0, 0))).toBe(reason);
  });

  test('that nothing describes is kept where a rule says for how long', () => {
    const freshness = withTimes(readFreshness(chunked, 0, 0), chunked, { fresh: 60_000 });
    expect(whyNotStreamed(chunked, undefined, 100, freshness)).toBeUndefined();
  });
});
