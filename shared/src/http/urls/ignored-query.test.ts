import { describe, expect, test } from '@jest/globals';
import { type IgnoredQuery, PARAMETER_NAME, withoutIgnored } from './ignored-query.ts';
import { parseOriginUrl } from './prefixed-url.ts';

const reduce = (query: string, ignored: IgnoredQuery) =>
  withoutIgnored(new URL(`https://a.example/f${query}`), ignored).href.slice(19);

const NAMES: IgnoredQuery = { names: ['utm_*', 'fbclid'] };
const ALL_BUT: IgnoredQuery = { allBut: ['v', 'a_b', 'part*'] };

describe('named parameters', () => {
  test.each([
    ['', ''],
    ['?', '?'],
    ['?v=1', '?v=1'],
    ['?utm_source=x', ''],
    ['?utm_source=x&v=1&fbclid=2', '?v=1'],
    ['?v=1&utm_source=x&v=2', '?v=1&v=2'],
    ['?fbclid', ''],
    ['?v=fbclid', '?v=fbclid'],
    ['?&fbclid=1&', ''],
    ['?v&&fbclid=1', '?v&'],
  ])('%s becomes "%s"', (query, reduced) => expect(reduce(query, NAMES)).toBe(reduced));

  test.each([
    '?FBCLID=1',
    '?fbclid2=1',
    '?%66bclid=1',
    '?fbclid%5B%5D=1',
    '?utm=1',
    '?=1',
    // A server that separates parameters by semicolons reads `v` here.
    '?fbclid=1;v=2',
  ])('%s may name another file, and stays', (query) => expect(reduce(query, NAMES)).toBe(query));
});

describe('all parameters but some', () => {
  test.each([
    ['?x=1', ''],
    ['?x=1&v=2&y', '?v=2'],
    ['?x=1;y=2', ''],
    ['?vv=1', ''],
  ])('%s becomes "%s"', (query, reduced) => expect(reduce(query, ALL_BUT)).toBe(reduced));

  test.each([
    '?V=1',
    '?%76=1',
    '?v[]=1',
    '?v%5B0%5D=1',
    '?x=1;v=2',
    '?a.b=1',
    '?a+b=1',
    '?+v=1',
    '?a%20b=1',
    '?partial=1',
    '?%zz=1',
    '?%ff=1',
  ])('%s may be read as one of them, and stays', (query) =>
    expect(reduce(query, ALL_BUT)).toBe(query),
  );
});

test.each(['', '?', '?v=1', '?v=1&w#x'])('all parameters go from "%s"', (query) => {
  expect(reduce(query, 'all').split('#')[0]).toBe('');
});

test('a reduced URL is canonical, and reducing it again changes nothing', () => {
  for (const query of [
    '?a=%7e&fbclid=1',
    "?q='&utm_x=1&r=ü",
    '?a=b?c&fbclid',
    '?x=1&fbclid=1&y=|',
  ]) {
    for (const ignored of [NAMES, ALL_BUT, 'all'] as const) {
      const url = withoutIgnored(parseOriginUrl(`https://a.example/f${query}`), ignored);
      expect(parseOriginUrl(url.href).href).toBe(url.href);
      expect(withoutIgnored(url, ignored).href).toBe(url.href);
    }
  }
});

test.each(['utm_*', 'v', 'a[0]', 'a.b'])('%s is a name', (name) => {
  expect(PARAMETER_NAME.test(name)).toBe(true);
});
test.each(['', '*', 'a=b', 'a&b', 'a*b', 'a b'])('"%s" is not', (name) => {
  expect(PARAMETER_NAME.test(name)).toBe(false);
});
