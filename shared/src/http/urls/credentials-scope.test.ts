import { describe, expect, test } from '@jest/globals';
import { type Chain, mayHaveCookies, mayLogIn, referrerIn, scopeOf } from './credentials-scope.ts';

const FIRST = 'https://files.test/a';
const chain = (start: string, role: Chain['role'] = 'origin'): Chain => ({
  role,
  start: new URL(start),
});

describe('scopeOf', () => {
  test.each([
    ['https://files.test/a', FIRST, 'own'],
    ['https://files.test/b?c', FIRST, 'own'],
    ['https://files.test:443/', FIRST, 'own'],
    ['https://files.test/b', 'https://files.test/other', 'own'],
    ['http://files.test/a', FIRST, 'redirected'],
    ['https://files.test:8443/a', FIRST, 'redirected'],
    ['https://cdn.files.test/a', FIRST, 'redirected'],
    ['https://evil.test/a', FIRST, 'redirected'],
    ['https://mirror.test/a', 'https://mirror.test/a', 'mirror'],
    ['https://files.test/a', 'https://mirror.test/a', 'mirror'],
    ['https://files.test/a', 'http://files.test/a', 'mirror'],
  ])('%s in a chain from %s is %s', (url, start, scope) => {
    expect(scopeOf(new URL(url), chain(start), new URL(FIRST))).toBe(scope);
  });

  test('every request through an edge has the scope of the edge', () => {
    expect(scopeOf(new URL(FIRST), chain(FIRST, 'edge'), new URL(FIRST))).toBe('edge');
  });
});

test('a log-in is sent only to its origin, in chains that began there', () => {
  const origin = 'https://files.test';
  expect(mayLogIn(new URL(FIRST), chain(FIRST), origin)).toBe(true);
  expect(mayLogIn(new URL('https://files.test/b'), chain(FIRST), origin)).toBe(true);
  expect(mayLogIn(new URL('http://files.test/a'), chain(FIRST), origin)).toBe(false);
  expect(mayLogIn(new URL('https://cdn.files.test/a'), chain(FIRST), origin)).toBe(false);
  expect(mayLogIn(new URL(FIRST), chain('https://mirror.test/'), origin)).toBe(false);
  expect(mayLogIn(new URL(FIRST), chain(FIRST, 'edge'), origin)).toBe(false);
});

test('cookies are for the origin and its redirects, not for mirrors and edges', () => {
  expect((['own', 'redirected', 'mirror', 'edge'] as const).map(mayHaveCookies)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test.each([
  ['own', 'https://files.test/', 'https://page.test/x?y', 'https://page.test/x?y'],
  ['redirected', 'https://cdn.test/', 'https://page.test/x?y', 'https://page.test/'],
  ['mirror', 'https://mirror.test/', 'https://page.test/x?y', undefined],
  ['edge', 'https://edge.test/', 'https://page.test/x?y', undefined],
  ['own', 'http://files.test/', 'https://page.test/x?y', undefined],
  ['redirected', 'http://cdn.test/', 'https://page.test/x?y', undefined],
  ['redirected', 'http://cdn.test/', 'http://page.test/x?y', 'http://page.test/'],
] as const)('referrer, %s %s: of %s it is %s', (scope, url, referrer, sent) => {
  expect(referrerIn(scope, new URL(url), new URL(referrer))).toBe(sent);
});
