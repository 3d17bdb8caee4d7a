import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type AskedFor, MAX_USED_EDGES, type OfferedEdge, usableEdges } from './edge-use.ts';

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
    ['a name of this home', 'http://nas.home.arpa/a.iso'],
    ['something else', 'ftp://example.com/a.iso'],
    ['nothing that can be read', 'https://'],
  ])('not where there is %s: %s', (_, url) => {
    expect(mayUse({ url })).toBe(false);
    expect(mayUse({ url: ISO }, { url })).toBe(false);
  });

  test.each(['Cookie', 'authorization', 'Proxy-Authorization', 'X-Api-Key'])(
    'not what %s was sent for, to whichever host',
    (name) => {
      const headers = { 'user-agent': 'Browser/1', [name]: 'a=b' };
      expect(mayUse({ url: ISO, headers })).toBe(false);
      expect(mayUse({ url: ISO }, { url: 'https://cdn.example/a.iso', headers })).toBe(false);
    },
  );

  test('nothing that was not asked for', () => {
    expect(mayUse()).toBe(false);
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
  const good: fc.Arbitrary<AskedFor> = fc.record({
    url: fc
      .tuple(fc.constantFrom('http', 'https'), host, fc.webPath())
      .map(([scheme, name, path]) => `${scheme}://${name === 'com' ? 'a.com' : name}/x${path}`),
    headers: fc.constantFrom<AskedFor['headers']>(
      undefined,
      {},
      { 'User-Agent': 'x' },
      { referer: 'https://a.b/' },
    ),
  });
  /** Spoils a request; each of these alone is enough. */
  const spoil = fc.constantFrom<(asked: AskedFor) => AskedFor>(
    ({ url, headers }) => ({ url, headers: { ...headers, COOKIE: '' } }),
    ({ url, headers }) => ({ url, headers: { ...headers, Authorization: 'Basic eDp5' } }),
    ({ url, headers }) => ({ url, headers: { ...headers, 'X-Session': '1' } }),
    ({ url }) => ({ url: url.replace('://', '://user@') }),
    ({ url }) => ({ url: url.replace('://', '://:word@') }),
    ({ url }) => ({ url: url.replace(/[?#].*$|$/s, '?sig=1') }),
    ({ url }) => ({ url: url.replace(/:\/\/[^/]+/, '://10.1.2.3') }),
    ({ url }) => ({ url: url.replace(/:\/\/[^/]+/, '://[fd00::1]') }),
    ({ url }) => ({ url: url.replace(/:\/\/[^/]+/, '://printer') }),
    ({ url }) => ({ url: url.replace(/^https?/, 'ftp') }),
  );

  test('are those that are allowed for the host that is asked, each once and in order', () => {
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

  test('are none as soon as one of the requests is not for everybody', () => {
    const requests = fc.array(good, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(requests, fc.nat(), spoil, edges, (all, at, change, offered) => {
        const spoilt = all.with(at % all.length, change(all[at % all.length] as AskedFor));
        expect(usableEdges(spoilt, offered)).toEqual([]);
      }),
    );
  });
});
