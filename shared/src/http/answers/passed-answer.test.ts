import { describe, expect, test } from '@jest/globals';
import type { Headers } from '../fields/headers.ts';
import { formatHttpDate } from '../fields/http-date.ts';
import { answerFreshness, isPassable } from './passed-answer.ts';

const NOW = Date.UTC(2024, 0, 1);
const OLD = { date: formatHttpDate(NOW), 'last-modified': formatHttpDate(NOW - 86_400_000) };

describe('an answer without a file', () => {
  test.each([201, 203, 204, 299, 400, 403, 404, 405, 410, 429, 500, 503, 599])(
    '%d may go to clients',
    (status) => {
      expect(isPassable(status, {})).toBe(true);
    },
  );

  test.each([101, 200, 206, 304, 401, 407, 412, 416, 421, 600])('%d may not', (status) => {
    expect(isPassable(status, {})).toBe(false);
  });

  test('that redirects may go to clients only if it leads nowhere', () => {
    expect(isPassable(302, {})).toBe(true);
    expect(isPassable(302, { location: '/login' })).toBe(false);
  });

  test.each([
    ['a status that is kept by default', 404, OLD, true],
    ['another one', 403, OLD, false],
    ['another one that is public', 599, { ...OLD, 'cache-control': 'public' }, true],
    ['a stated time', 503, { 'cache-control': 'max-age=60' }, true],
    ['a stated date', 502, { expires: formatHttpDate(NOW + 60_000) }, true],
    ['a stated time for CDNs', 500, { 'cdn-cache-control': 'max-age=60' }, true],
    ['nothing', 404, {}, false],
  ])('is fresh for some time: %s', (_, status, headers, isFresh) => {
    expect(answerFreshness(status, headers, NOW, NOW).lifetimeMs > 0).toBe(isFresh);
  });

  test.each([
    ['a status that is kept by default', 404, {}, true],
    ['a time that the origin gives', 410, { 'cache-control': 'stale-if-error=60' }, true],
    ['an answer that must be asked for', 404, { 'cache-control': 'must-revalidate' }, false],
    ['another status, however long it is kept', 403, { 'cache-control': 'max-age=60' }, false],
    ['a failure of the origin', 501, {}, false],
  ])('is used while the origin fails: %s', (_, status, headers, isUsed) => {
    expect(answerFreshness(status, headers, NOW, NOW).staleIfErrorMs > 0).toBe(isUsed);
  });

  test('is used for a day at most while the origin fails, or as long as a rule says', () => {
    const staleMs = (headers: Headers, staleIfError?: number) =>
      answerFreshness(404, headers, NOW, NOW, { staleIfError, fresh: 1000 }).staleIfErrorMs;
    expect(staleMs({ 'cache-control': 'stale-if-error=9999999' })).toBe(86_400_000);
    expect(staleMs({}, 30 * 86_400_000)).toBe(86_400_000);
    expect(staleMs({}, 60_000)).toBe(60_000);
    // The time for which files are fresh is not that of their absence.
    expect(answerFreshness(404, {}, NOW, NOW, { fresh: 1000 }).lifetimeMs).toBe(0);
  });

  test('of an unknown status is not kept by must-understand', () => {
    const headers = { 'cache-control': 'max-age=60, no-store, must-understand' };
    expect(answerFreshness(599, headers, NOW, NOW).notStorable).toBe('no-store');
    expect(answerFreshness(404, headers, NOW, NOW).notStorable).toBeUndefined();
  });
});
