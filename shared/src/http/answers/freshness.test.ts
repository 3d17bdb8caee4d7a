import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Headers } from '../fields/headers.ts';
import { formatHttpDate } from '../fields/http-date.ts';
import {
  currentAge,
  DEFAULT_STALE_IF_ERROR_MS,
  isFresh,
  isUsableMeanwhile,
  isUsableOnError,
  MAX_HEURISTIC_MS,
  parseCacheControl,
  readDemands,
  readFreshness,
  withTimes,
} from './freshness.ts';

const NOW = Date.UTC(2024, 0, 1);
const HOUR = 3_600_000;
const at = (offsetMs: number) => formatHttpDate(NOW + offsetMs);

/** Reads the freshness of an answer that came without delay. */
function read(headers: Headers) {
  return readFreshness({ date: at(0), ...headers }, NOW, NOW);
}
const cc = (value: string) => ({ 'cache-control': value });
const cdn = (targeted: string, value: string) => ({
  ...cc(value),
  'cdn-cache-control': targeted,
});

describe('freshness', () => {
  test.each<[string, Headers, number]>([
    ['max-age', cc('max-age=60'), 60_000],
    ['max-age=0', cc('max-age=0'), 0],
    ['s-maxage wins over max-age', cc('max-age=60, s-maxage=10'), 10_000],
    ['names in any case', cc('Max-Age=60'), 60_000],
    ['white space around', cc(' , public ,max-age = 60 '), 60_000],
    ['a quoted number', cc('max-age="60"'), 60_000],
    ['a directive inside a string does not count', cc('x="max-age=5", max-age=60'), 60_000],
    ['the first of two', cc('max-age=10, max-age=60'), 10_000],
    ['several lines', { 'cache-control': ['public', 'max-age=60'] }, 60_000],
    ['no-cache', cc('no-cache, max-age=60'), 0],
    ['no-cache for some fields', cc('no-cache="set-cookie", max-age=60'), 0],
    ['a number too large', cc('max-age=99999999999999999999'), 2 ** 31 * 1000],
    ['a malformed number is stale', cc('max-age=1h'), 0],
    ['a negative number is stale', cc('max-age=-1'), 0],
    ['a missing number is stale', cc('max-age'), 0],
    ['malformed, although Expires is later', { ...cc('max-age=x'), expires: at(HOUR) }, 0],
    ['max-age counts if s-maxage is malformed', cc('s-maxage=x, max-age=60'), 60_000],
    ['Expires', { expires: at(60_000) }, 60_000],
    ['Expires counts from Date', { expires: at(60_000), date: at(-HOUR) }, HOUR + 60_000],
    ['Expires in the past', { expires: at(-1000) }, 0],
    ['Expires: 0', { expires: '0' }, 0],
    ['max-age wins over Expires', { ...cc('max-age=5'), expires: at(HOUR) }, 5000],
    ['a tenth of the time since Last-Modified', { 'last-modified': at(-100_000) }, 10_000],
    ['the heuristic has a cap', { 'last-modified': at(-365 * 24 * HOUR) }, MAX_HEURISTIC_MS],
    ['modified after it was sent', { 'last-modified': at(HOUR) }, 0],
    ['Expires wins over the heuristic', { 'last-modified': at(-HOUR), expires: at(5000) }, 5000],
    ['nothing at all', {}, 0],
    ['CDN-Cache-Control wins', { ...cc('max-age=5'), 'cdn-cache-control': 'max-age=60' }, 60_000],
    ['CDN-Cache-Control wins over no-cache', cdn('max-age=60', 'no-cache'), 60_000],
    ['no-cache of CDN-Cache-Control', cdn('no-cache', 'max-age=60'), 0],
    ['a malformed CDN-Cache-Control', cdn('max-age=60, &&&', 'max-age=5'), 5000],
    ['a quoted number in CDN-Cache-Control', cdn('max-age="60"', 'max-age=5'), 5000],
    ['an empty CDN-Cache-Control', cdn('', 'max-age=5'), 5000],
    [
      'Expires does not count beside CDN-Cache-Control',
      { 'cdn-cache-control': 'foo', expires: at(HOUR) },
      0,
    ],
    ['a malformed Last-Modified', { 'last-modified': 'yesterday' }, 0],
  ])('lifetime: %s', (_, headers, ms) => {
    expect(read(headers).lifetimeMs).toBe(ms);
  });

  test.each<[string, Headers, string | undefined]>([
    ['nothing against it', {}, undefined],
    ['no-store', cc('max-age=60, No-Store'), 'no-store'],
    ['private', cc('private'), 'private'],
    ['private for some fields', cc('private="x-user"'), 'private'],
    ['a cookie', { 'set-cookie': ['a=b'] }, 'set-cookie'],
    ['one variant for all', { vary: '' }, undefined],
    ['variants by encoding', { vary: 'Accept-Encoding' }, undefined],
    ['variants by fields that no edge sends', { vary: 'Origin, User-Agent, Accept' }, undefined],
    ['variants by anything', { vary: 'Accept, *' }, 'vary-any'],
    ['variants by log-in', { vary: 'accept-encoding, Authorization' }, 'vary-authorization'],
    ['variants on several lines', { vary: ['accept-encoding', 'cookie'] }, 'vary-cookie'],
    ['private inside a string', cc('x="private, no-store"'), undefined],
  ])('storing: %s', (_, headers, reason) => {
    expect(read(headers).notStorable).toBe(reason);
  });

  test.each<[string, Headers, number, number, number]>([
    ['made just now', { date: at(0) }, 0, 0, 0],
    ['made a minute before it came', { date: at(-60_000) }, 0, 0, 60_000],
    ['the time on the way counts', { date: at(0) }, -5000, 0, 5000],
    ['Age', { age: '30' }, 0, 0, 30_000],
    ['Age and the time on the way', { age: '30' }, -2000, 0, 32_000],
    ['the larger of Age and Date', { age: '30', date: at(-90_000) }, 0, 0, 90_000],
    ['a clock that is ahead', { date: at(HOUR) }, 0, 0, 0],
    ['no Date', { date: undefined }, 0, 0, 0],
    ['a malformed Age', { age: '-30' }, 0, 0, 0],
    ['a clock that jumped back on the way', {}, 1000, 0, 0],
  ])('age: %s', (_, headers, requested, arrived, ageMs) => {
    const f = readFreshness({ date: at(0), ...headers }, NOW + requested, NOW + arrived);
    expect(f.initialAgeMs).toBe(ageMs);
    expect(currentAge(f, NOW + arrived + 7000)).toBe(ageMs + 7000);
    expect(currentAge(f, NOW + arrived - HOUR)).toBe(ageMs);
  });

  test('an answer is fresh until its age reaches its lifetime', () => {
    const f = read({ ...cc('max-age=60'), age: '20' });
    expect(isFresh(f, NOW)).toBe(true);
    expect(isFresh(f, NOW + 39_999)).toBe(true);
    expect(isFresh(f, NOW + 40_000)).toBe(false);
    expect(isFresh(read({}), NOW)).toBe(false);
  });

  test.each([
    ['by default', 'max-age=60', DEFAULT_STALE_IF_ERROR_MS],
    ['as long as it says', 'max-age=60, stale-if-error=5', 5000],
    ['not at all if it says so', 'max-age=60, stale-if-error=0', 0],
    ['never with must-revalidate', 'must-revalidate, stale-if-error=5', 0],
    ['never with proxy-revalidate', 'proxy-revalidate', 0],
    ['never with s-maxage, which implies it', 's-maxage=60', 0],
    ['never with no-cache', 'no-cache', 0],
    ['by default if the number is malformed', 'stale-if-error=x', DEFAULT_STALE_IF_ERROR_MS],
  ])('a stale answer may be used while the origin is down: %s', (_, value, ms) => {
    expect(read(cc(value)).staleIfErrorMs).toBe(ms);
  });

  test('the time for use on errors begins when the lifetime ends', () => {
    const f = read(cc('max-age=60, stale-if-error=5'));
    expect(isUsableOnError(f, NOW + 64_999)).toBe(true);
    expect(isUsableOnError(f, NOW + 65_000)).toBe(false);
  });

  test.each<[Headers, [boolean, boolean, number | undefined]]>([
    [{}, [false, false, undefined]],
    [cc('no-cache'), [true, false, undefined]],
    [cc('only-if-cached'), [false, true, undefined]],
    [cc('max-age=0'), [false, false, 0]],
    [cc('max-age=5, no-cache'), [true, false, 5000]],
    [cc('max-age=x'), [false, false, undefined]],
    [{ pragma: 'no-cache' }, [true, false, undefined]],
    [{ pragma: 'x-other' }, [false, false, undefined]],
    [{ pragma: 'no-cache', ...cc('max-age=5') }, [false, false, 5000]],
  ])('a request with %j demands %j', (headers, [revalidate, onlyIfCached, maxAgeMs]) => {
    expect(readDemands(headers)).toEqual({ revalidate, onlyIfCached, maxAgeMs });
  });

  test('directives are keyed by name, and strings lose their quotes', () => {
    expect([...parseCacheControl('A=1, b, c="x, y" , a=2, d=')]).toEqual([
      ['a', '1'],
      ['b', ''],
      ['c', 'x, y'],
      ['d', ''],
    ]);
    expect(parseCacheControl(undefined).size).toBe(0);
  });

  test('whatever an origin sends, no time is negative, and a fresh answer is usable', () => {
    const value = fc.oneof(
      fc.string(),
      fc.constantFrom('max-age=5', 's-maxage=1', 'no-cache', 'stale-if-error=9', at(5000), '7'),
    );
    const names = ['cache-control', 'expires', 'age', 'date', 'last-modified', 'vary', 'pragma'];
    const headers = fc.dictionary(fc.constantFrom(...names), value);
    fc.assert(
      fc.property(headers, fc.nat(5000), fc.nat(20_000), (fields, travelMs, laterMs) => {
        const f = readFreshness(fields, NOW - travelMs, NOW);
        expect(f.lifetimeMs).toBeGreaterThanOrEqual(0);
        expect(f.staleIfErrorMs).toBeGreaterThanOrEqual(0);
        expect(f.initialAgeMs).toBeGreaterThanOrEqual(0);
        if (isFresh(f, NOW + laterMs)) expect(isUsableOnError(f, NOW + laterMs)).toBe(true);
        if (!isFresh(f, NOW)) expect(isFresh(f, NOW + laterMs)).toBe(false);
      }),
    );
  });
});

describe('Age', () => {
  test.each([
    ['7200, 0', 7_200_000],
    ['0, 7200', 0],
    ['2147483648', 2 ** 31 * 1000],
    ['99999999999999999999', 2 ** 31 * 1000],
    ['abc', 0],
    ['-5', 0],
    ['7200.0', 0],
  ])('"%s" makes the answer %d ms old', (age, ms) => {
    expect(read({ age }).initialAgeMs).toBe(ms);
  });
});

describe('an answer that may be used while the origin is asked', () => {
  const f = read(cc('max-age=60, stale-while-revalidate=30'));

  test('is used in that time, and not later', () => {
    expect([59_999, 89_999, 90_000].map((ms) => isUsableMeanwhile(f, NOW + ms))).toEqual([
      true,
      true,
      false,
    ]);
    expect(isFresh(f, NOW + 60_000)).toBe(false);
  });

  test.each(['must-revalidate', 'no-cache', 's-maxage=60'])('is not used with %s', (directive) => {
    const strict = read(cc(`max-age=60, stale-while-revalidate=30, ${directive}`));
    expect(strict.staleWhileRevalidateMs).toBeUndefined();
  });
});

test('must-understand lets a cache that does store, whatever no-store says', () => {
  expect(read(cc('max-age=60, no-store, must-understand')).notStorable).toBeUndefined();
});

describe('the times of a rule', () => {
  const times = { fresh: HOUR, staleWhileRevalidate: 2000, staleIfError: 3000 };

  test('begin when the answer arrives', () => {
    const headers = { ...cc('max-age=5'), age: '7200' };
    const f = withTimes(read(headers), headers, times);
    expect(isFresh(f, NOW + HOUR - 1)).toBe(true);
    expect(isFresh(f, NOW + HOUR)).toBe(false);
    expect([
      isUsableMeanwhile(f, NOW + HOUR + 1999),
      isUsableOnError(f, NOW + HOUR + 2999),
    ]).toEqual([true, true]);
  });

  test('do not replace no-cache, nor must-revalidate for stale files', () => {
    const asked = cc('no-cache');
    expect(withTimes(read(asked), asked, times)).toEqual(read(asked));
    const strict = cc('must-revalidate');
    const f = withTimes(read(strict), strict, times);
    expect([f.lifetimeMs, f.staleIfErrorMs, f.staleWhileRevalidateMs]).toEqual([
      HOUR,
      0,
      undefined,
    ]);
  });

  test.each<[string, Headers, string | undefined]>([
    ['a cookie', { 'set-cookie': 'a=b', ...cc('max-age=5') }, undefined],
    ['Vary with Authorization', { vary: 'Authorization, Accept-Encoding' }, undefined],
    ['Vary with all', { vary: 'Cookie, *' }, 'vary-any'],
    ['private', { 'set-cookie': 'a=b', ...cc('private') }, 'private'],
    ['no-store', { vary: 'cookie', ...cc('no-store') }, 'no-store'],
  ])('where files are the same for all, %s: not kept because of %j', (_, headers, why) => {
    expect(read(headers).notStorable).toBeDefined();
    expect(withTimes(read(headers), headers, { sameForAll: true }).notStorable).toBe(why);
  });

  test('without a rule leave everything as it was', () => {
    const f = read(cc('max-age=5'));
    expect(withTimes(f, cc('max-age=5'), {})).toBe(f);
  });
});
