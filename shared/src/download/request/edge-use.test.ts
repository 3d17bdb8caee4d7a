import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Headers } from '../../http/fields/headers.ts';
import {
  type AskedFor,
  MAX_USED_EDGES,
  type OfferedEdge,
  reasonToStayHome,
  usableEdges,
} from './edge-use.ts';

const EDGE = 'https://edge.example/';
const ISO = 'https://example.com/a.iso';
const mayUse = (...requests: AskedFor[]) => usableEdges(requests, [{ url: EDGE }]).length === 1;

describe('edges may be asked for', () => {
  test.each([
    'https://example.com/a.iso',
    'http://example.com:8080/a.iso?mirror=de&keyboard=us',
    'https://8.8.8.8/a.iso',
    'https://local.example.com/a.iso',
  ])('%s', (url) => {
    const headers = { 'User-Agent': 'Browser/1', Referer: 'https://example.com/', Accept: '*/*' };
    expect(mayUse({ url, headers }, { url })).toBe(true);
  });

  test.each([
    ['a user name', 'https://user@example.com/a.iso'],
    ['a password', 'https://:word@example.com/a.iso'],
    ['a signature', 'https://example.com/a.iso?X-Amz-Signature=abc'],
    ['a token', 'https://example.com/a.iso?token=abc'],
    ['a token of some kind', 'https://example.com/a.iso?Download_Token=abc'],
    ['a token, otherwise written', 'https://example.com/a.iso?%74oken=abc'],
    ['a key', 'https://example.com/a.iso?a=1&api_key=abc'],
    ['a password in the query', 'https://example.com/a.iso?password=abc'],
    ['a session', 'https://example.com/a.iso?sessionid=abc'],
    ['loopback', 'http://127.0.0.1/a.iso'],
    ['loopback, otherwise written', 'http://0x7f.1/a.iso'],
    ['loopback, mapped', 'http://[::ffff:127.0.0.1]/a.iso'],
    ['a private address', 'http://192.168.0.1/a.iso'],
    ['a link-local address', 'http://[fe80::1]/a.iso'],
    ['localhost', 'http://localhost:8080/a.iso'],
    ['a name without a domain', 'http://nas/a.iso'],
    ['a name of this network', 'http://nas.local/a.iso'],
    ['a name of this network, with a dot', 'http://nas.local./a.iso'],
    ['a name of the home network', 'http://nas.home.arpa/a.iso'],
    ['something else', 'ftp://example.com/a.iso'],
    ['a text that is not a URL', 'https://'],
  ])('but not if there is %s: %s', (_, url) => {
    expect(mayUse({ url })).toBe(false);
  });

  test.each([
    'http://127.0.0.1/a.iso',
    'http://nas.local/a.iso',
    'https://user@example.com/a.iso',
    'ftp://example.com/a.iso',
  ])('but not if a redirect has led to %s', (url) => {
    expect(mayUse({ url: ISO }, { url })).toBe(false);
  });

  test('if a public link redirects to a signed one, as at GitHub and Hugging Face', () => {
    const signed = 'https://objects.example.com/x?X-Amz-Signature=abc&X-Amz-Expires=300';
    expect(mayUse({ url: ISO }, { url: signed })).toBe(true);
  });

  test.each(['Cookie', 'authorization', 'Proxy-Authorization', 'X-Api-Key'])(
    'not for a request with %s, whatever the host',
    (name) => {
      const headers = { 'user-agent': 'Browser/1', [name]: 'a=b' };
      expect(mayUse({ url: ISO, headers })).toBe(false);
      expect(mayUse({ url: ISO }, { url: 'https://cdn.example/a.iso', headers })).toBe(false);
    },
  );

  test('but not if there is no request', () => {
    expect(mayUse()).toBe(false);
  });
});

describe('the answer is examined before the URL:', () => {
  /** Adds a status to every row: for a missing argument Jest passes a callback and waits. */
  const rows = (given: [string, Headers, number?][]) =>
    given.map(([name, headers, status = 200]) => [name, headers, status] as const);
  const saying = (headers: Headers, status = 200) =>
    usableEdges([{ url: ISO, answer: { status, headers } }], [{ url: EDGE }]).length === 1;

  test.each(
    rows([
      ['private', { 'cache-control': 'private, max-age=60' }],
      ['private, for some fields', { 'cache-control': 'private="set-cookie"' }],
      ['no-store', { 'cache-control': 'max-age=60, No-Store' }],
      ['no-store, in one of two lines', { 'cache-control': ['public', 'no-store'] }],
      ['private, for CDNs', { 'cdn-cache-control': 'private' }],
      ['no-store, for surrogates', { 'surrogate-control': 'no-store' }],
      ['a cookie', { 'set-cookie': 'a=b' }],
      ['a variant for everything', { vary: 'Accept-Encoding, *' }],
      ['a variant by cookie', { vary: 'Cookie' }],
      ['a variant by log-in', { vary: 'origin, authorization' }],
      ['a log-in', { 'authentication-info': 'nextnonce="x"' }],
      ['401', {}, 401],
      ['403', {}, 403],
    ]),
  )('%s keeps the file from edges', (_, headers, status) => {
    expect(saying(headers, status)).toBe(false);
  });

  test.each(
    rows([
      ['an answer without caching fields', {}],
      ['public', { 'cache-control': 'public, max-age=31536000, immutable' }],
      ['an answer that must be revalidated', { 'cache-control': 'no-cache, must-revalidate' }],
      ['variants by encoding and origin', { vary: 'Accept-Encoding, Origin' }],
      ['a word that is not a directive', { 'cache-control': 'x-private="no-store"' }],
      ['part of the file', {}, 206],
      ['a missing file', {}, 404],
    ]),
  )('%s lets edges be asked', (_, headers, status) => {
    expect(saying(headers, status)).toBe(true);
  });

  test('the reason is that of the answer, or else that of the URL', () => {
    const asked = [{ url: 'https://example.com/a.iso?md5=x&expires=1700000000' }];
    expect(reasonToStayHome(asked)).toBe('time-limit');
    const answer = { status: 200, headers: { 'set-cookie': 'a=b' } };
    expect(reasonToStayHome([...asked, { url: ISO, answer }])).toBe('answer-cookie');
    expect(reasonToStayHome([{ url: ISO }])).toBeUndefined();
  });
});

describe('the edges of a file', () => {
  const host = fc.constantFrom('example.com', 'dl.example.com', 'other.example', 'com');
  const hosts = fc.option(fc.array(host, { maxLength: 3 }), { nil: undefined });
  const edge = fc.record({
    url: fc.integer({ min: 0, max: 20 }).map((n) => `https://edge${n}.example/`),
    hosts,
  });
  const edges: fc.Arbitrary<OfferedEdge[]> = fc.array(edge, { maxLength: 30 });
  /** Names of public files. Random characters could look like a secret identifier. */
  const path = fc
    .array(fc.constantFrom('pub', 'releases', '24.04', 'a.iso', 'x86_64', 'a%20b'), {
      maxLength: 4,
    })
    .map((names) => `/${names.join('/')}`);
  const good: fc.Arbitrary<AskedFor> = fc.record({
    url: fc
      .tuple(fc.constantFrom('http', 'https'), host, path)
      .map(([scheme, name, path]) => `${scheme}://${name === 'com' ? 'a.com' : name}/x${path}`),
    headers: fc.constantFrom<AskedFor['headers']>(
      undefined,
      {},
      { 'User-Agent': 'x' },
      { referer: 'https://a.b/' },
    ),
  });
  /** Changes to a request, each of which alone keeps the file from edges. */
  const spoil = fc.constantFrom<(asked: AskedFor) => AskedFor>(
    ({ url, headers }) => ({ url, headers: { ...headers, COOKIE: '' } }),
    ({ url, headers }) => ({ url, headers: { ...headers, Authorization: 'Basic eDp5' } }),
    ({ url, headers }) => ({ url, headers: { ...headers, 'X-Session': '1' } }),
    ({ url }) => ({ url: url.replace('://', '://user@') }),
    ({ url }) => ({ url: url.replace('://', '://:word@') }),
    ({ url }) => ({ url: url.replace(/:\/\/[^/]+/, '://10.1.2.3') }),
    ({ url }) => ({ url: url.replace(/:\/\/[^/]+/, '://[fd00::1]') }),
    ({ url }) => ({ url: url.replace(/:\/\/[^/]+/, '://printer') }),
    ({ url }) => ({ url: url.replace(/^https?/, 'ftp') }),
  );

  test('are the edges allowed for the requested host, each once and in order', () => {
    fc.assert(
      fc.property(fc.array(good, { minLength: 1, maxLength: 4 }), edges, (requests, offered) => {
        const { hostname } = new URL((requests[0] as AskedFor).url);
        const expected: string[] = [];
        for (const { url, hosts: allowed = [hostname] } of offered) {
          const fits = allowed.some((one) => `.${hostname}`.endsWith(`.${one}`));
          if (fits && !expected.includes(url)) expected.push(url);
        }
        expect(usableEdges(requests, offered)).toEqual(expected.slice(0, MAX_USED_EDGES));
      }),
    );
  });

  test('are not used as soon as one of the requests is private', () => {
    const requests = fc.array(good, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(requests, fc.nat(), spoil, edges, (all, at, change, offered) => {
        const spoilt = all.with(at % all.length, change(all[at % all.length] as AskedFor));
        expect(usableEdges(spoilt, offered)).toEqual([]);
      }),
    );
  });
});
