import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MillraceError } from '../../base/errors.ts';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import {
  formatPrefixedUrl,
  parseOriginUrl,
  parsePrefixedTarget,
  requestTarget,
} from './prefixed-url.ts';

const HTTPS = { defaultScheme: 'https' } as const;
const parse = (target: string) => parsePrefixedTarget(target, HTTPS).href;
const refused = (code: string) => expect.objectContaining({ code });
/** Converts text to one character per byte, as in Node's request targets. */
const asBytes = (text: string) => Buffer.from(text).toString('latin1');

/** Text that people put into URLs; clients encode spaces and #. */
const text = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: 'grapheme' }) },
      fc.constantFrom(',', ',start=1,end=2', '%20', '%2F', '%', '%zz', '..', '~', "'", '?', '@'),
    ),
    { maxLength: 4 },
  )
  .map((pieces) => pieces.join('').replace(/[\x00-\x20\x7f#\\]/g, '_'));
const host = fc.oneof(
  fc.domain(),
  fc.ipV4(),
  fc.ipV6().map((ip) => `[${ip}]`),
  fc.constantFrom('localhost', 'EXAMPLE.com', 'bücher.example', 'xn--bcher-kva.example'),
);
const port = fc.oneof(
  fc.constant(''),
  fc.constantFrom(':80', ':443', ':3125'),
  fc.integer({ min: 1, max: 65535 }).map((n) => `:${n}`),
);
const rest = fc.tuple(fc.array(text), fc.option(text, { nil: undefined }));
const url = fc
  .tuple(fc.constantFrom('http', 'https', 'HTTPS'), host, port, rest)
  .map(([scheme, name, number, [path, query]]) => {
    const search = query === undefined ? '' : `?${query}`;
    return { scheme, after: `${name}${number}/${path.join('/')}${search}` };
  });

describe('the request target of a URL', () => {
  test.each([
    ['http://example.com', '/'],
    ['http://example.com/a', '/a'],
    ['http://example.com/a?', '/a?'],
    ['http://example.com/a?b', '/a?b'],
    ['http://user:secret@[::1]:81/a?b=/c#d', '/a?b=/c'],
  ])('%s: %s', (url, target) => {
    expect(requestTarget(new URL(url))).toBe(target);
  });
});

describe('prefixed URLs', () => {
  test.each([
    ['/https://example.com/path/file.iso?x=1', 'https://example.com/path/file.iso?x=1'],
    ['/http://example.com/file.iso', 'http://example.com/file.iso'],
    ['/HTTP://EXAMPLE.com/File.ISO', 'http://example.com/File.ISO'],
    ['/http:/example.com/file.iso', 'http://example.com/file.iso'],
    ['/http%3A%2F%2Fexample.com/file.iso', 'http://example.com/file.iso'],
    ['/https%3a//example.com/file.iso', 'https://example.com/file.iso'],
    ['/http%3A//example.com%3A8080/file.iso', 'http://example.com:8080/file.iso'],
    ['/https://example.com%3a8443/a%3Ab%2Fc', 'https://example.com:8443/a%3Ab%2Fc'],
    ['/https%3A//%5B%3A%3A1%5D%3A8080/%5Bx%5D', 'https://[::1]:8080/%5Bx%5D'],
    ['/https://example.com%3A443?x=%3A', 'https://example.com/?x=%3A'],
    ['/example.com%3A8080/file.iso', 'https://example.com:8080/file.iso'],
    ['/intranet%3A8080/file.iso', 'https://intranet:8080/file.iso'],
    ['/http%3A%2F%2Fexample.com%3A8080%2Ffile.iso', 'http://example.com:8080/file.iso'],
    ['/https%3a%2fexample.com%2f', 'https://example.com/'],
    ['/http:%2F%2Fexample.com:8080%2Fa%252Fb', 'http://example.com:8080/a%2Fb'],
    ['/https:%2F%2Fexample.com/a%2Fb', 'https://example.com/a%2Fb'],
    ['/https%3A%2F%2Fexample.com%2Fa%252Fb%3Fq%3D%2526', 'https://example.com/a%2Fb?q=%26'],
    ['/https%3A%2F%2Fexample.com%3Fx', 'https://example.com/?x'],
    ['/https%3A%2F%2Fexample.com%2Fa/b%2Fc?d%2F', 'https://example.com/a/b%2Fc?d%2F'],
    ['/https%3A%2F%2Fexample.com%2Fa%2F%2E%2E%2Fb', 'https://example.com/b'],
    ['/https%3A%2F%2Fexample.com%2F%C3%BC%25C3', 'https://example.com/%C3%BC%C3'],
    ['/https%3A%2F%2Fexample.com%2Fa%5Cb', 'https://example.com/a%5Cb'],
    ['/https://example.com', 'https://example.com/'],
    ['/https://example.com?x=/', 'https://example.com/?x=/'],
    ['/example.com/file.iso', 'https://example.com/file.iso'],
    ['/example.com/', 'https://example.com/'],
    ['/example.com:8080/file.iso', 'https://example.com:8080/file.iso'],
    ['/localhost/file.iso', 'https://localhost/file.iso'],
    ['/intranet:8080/file.iso', 'https://intranet:8080/file.iso'],
    ['/127.0.0.1/file.iso', 'https://127.0.0.1/file.iso'],
    ['/[::1]:8080/file.iso', 'https://[::1]:8080/file.iso'],
    ['/http://example.com:80/', 'http://example.com/'],
    ['/https://example.com./x', 'https://example.com/x'],
    ['/https://example.com/a/../b/./c', 'https://example.com/b/c'],
    ['/https://example.com/a//b', 'https://example.com/a//b'],
    ['/https://example.com/my%20file.iso', 'https://example.com/my%20file.iso'],
    ['/https://example.com/a,b,start=1,end=2', 'https://example.com/a,b,start=1,end=2'],
    ['/https://example.com/f?q=x,start=1,end=2', 'https://example.com/f?q=x,start=1,end=2'],
    ['/https://example.com/100%25%41%2f', 'https://example.com/100%25%41%2f'],
    ['/https://example.com/%', 'https://example.com/%'],
    ['/https://example.com/a%23b', 'https://example.com/a%23b'],
    ['/https://example.com/a\\b?c\\d', 'https://example.com/a%5Cb?c%5Cd'],
    ['/https://example.com/http://other.example/', 'https://example.com/http://other.example/'],
  ])('%s names the file %s', (target, href) => {
    expect(parse(target)).toBe(href);
  });

  test('bytes above ASCII reach the origin as the client sent them', () => {
    expect(parse(`/https://example.com/${asBytes('ü')}`)).toBe('https://example.com/%C3%BC');
    expect(parse('/https://example.com/\xfc?\xe4')).toBe('https://example.com/%FC?%E4');
    expect(parse(`/https://${asBytes('bücher')}.example/`)).toBe('https://xn--bcher-kva.example/');
  });

  test('a URL without a scheme gets the configured one', () => {
    const { href } = parsePrefixedTarget('/example.com/x', { defaultScheme: 'http' });
    expect(href).toBe('http://example.com/x');
  });

  test.each([
    ['', 'no-such-page'],
    ['/', 'no-such-page'],
    ['/favicon.ico', 'no-such-page'],
    ['/robots.txt', 'no-such-page'],
    ['/.well-known/security.txt', 'no-such-page'],
    ['/example.com', 'no-such-page'],
    ['/example.com?x=/', 'no-such-page'],
    ['/intranet/file.iso', 'no-such-page'],
    ['/../etc/passwd', 'no-such-page'],
    ['/?url=https://example.com/', 'no-such-page'],
    ['/ftp://example.com/x', 'bad-url'],
    ['/file:///etc/passwd', 'bad-url'],
    ['/ws://example.com/x', 'bad-url'],
    ['/http://', 'bad-url'],
    ['/http:///x', 'bad-url'],
    ['/http://:80/x', 'bad-url'],
    ['/http:example.com/x', 'bad-url'],
    ['/https://example.com:0/x', 'bad-url'],
    ['/https://example.com:65536/x', 'bad-url'],
    ['/https://exa mple.com/x', 'bad-url'],
    ['/https://exa\\mple.com/x', 'bad-url'],
    ['/https://example.com/x y', 'bad-url'],
    ['/https://example.com/x#part', 'bad-url'],
    ['/https://example.com/x\ty', 'bad-url'],
    ['/https://example.com/x\r\nHost: y', 'bad-url'],
    ['/https://example.com/\x00', 'bad-url'],
    ['/https://[::1/x', 'bad-url'],
    ['/https://256.256.256.256/x', 'bad-url'],
    ['/https://example.com../x', 'bad-url'],
    ['/https://.example.com/x', 'bad-url'],
    ['/https://example..com/x', 'bad-url'],
    ['/https://example.com%253A8080/x', 'bad-url'],
    ['/https://example.com%3A8080%3A1/x', 'bad-url'],
    ['/https://example.com%2Fx', 'bad-url'],
    ['/https%3A//example.com%2Fx', 'bad-url'],
    ['/https%3A%2F%2Fexample.com%252Fx', 'bad-url'],
    ['/https%253A%252F%252Fexample.com%252Fx', 'no-such-page'],
    ['/https%3A%2F%2F%2Fexample.com%2Fx', 'no-such-page'],
    ['/https%3A%2F%2Fexample.com%2Fx%', 'bad-url'],
    ['/https%3A%2F%2Fexample.com%2Fx%20y', 'bad-url'],
    ['/https%3A%2F%2Fexample.com%2Fx%23y', 'bad-url'],
    ['/https%3A%2F%2Fexample.com%2Fx%0D%0AHost%3A', 'bad-url'],
    ['/https%3A%2F%2Fexample.com%2Fx%3Fa?b', 'bad-url'],
    ['/https%3A%2F%2Fexample.com%2Fx%3Fa/b', 'bad-url'],
    ['/https%3A%2F%2Fexample.com%5C%2Fx', 'bad-url'],
    ['/https%3A%2F%2Fuser%40example.com%2Fx', 'credentials-in-url'],
    ['/https%3A%2F%2Fuser%3Asecret%40example.com%2Fx', 'credentials-in-url'],
    ['/https://user%3Asecret@example.com/x', 'credentials-in-url'],
    ['/https://good.example%3A80%40evil.example/x', 'bad-url'],
    ['/https://user@example.com/x', 'credentials-in-url'],
    ['/https://user:secret@example.com/x', 'credentials-in-url'],
    ['/https://:secret@example.com/x', 'credentials-in-url'],
    ['/user@example.com/x', 'credentials-in-url'],
    [`/https://example.com/${'x'.repeat(MAX_URL_CHARS)}`, 'url-too-long'],
    [`/https://example.com/${'\xfc'.repeat(MAX_URL_CHARS / 2)}`, 'url-too-long'],
  ])('%.60j is refused: %s', (target, code) => {
    expect(() => parse(target)).toThrow(refused(code));
  });

  test('the error does not repeat a password', () => {
    expect(() => parse('/https://user:secret@example.com/')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });

  test('a URL as long as the limit is accepted', () => {
    const long = `https://example.com/${'x'.repeat(MAX_URL_CHARS - 20)}`;
    expect(parse(`/${long}`)).toBe(long);
    expect(() => parse(`/${long}x`)).toThrow(refused('url-too-long'));
  });

  test('a canonical URL stays the same when it is canonicalised again', () => {
    fc.assert(
      fc.property(url, ({ scheme, after }) => {
        const { href } = parseOriginUrl(`${scheme}://${after}`);
        expect(parseOriginUrl(href).href).toBe(href);
      }),
    );
  });

  test('any prefixed URL is read in the form in which the URL parser writes it', () => {
    fc.assert(
      fc.property(url, ({ scheme, after }) => {
        const { href } = new URL(`${scheme}://${after}`);
        expect(parse(asBytes(`/${scheme}://${after}`))).toBe(href);
        expect(parse(asBytes(`/${scheme}:/${after}`))).toBe(href);
        expect(parse(asBytes(`/${scheme}%3A%2F%2F${after}`))).toBe(href);
      }),
    );
  });

  test('clients that encode the segments of a path encode the colons and brackets of a host', () => {
    fc.assert(
      fc.property(url, ({ scheme, after }) => {
        const { href, origin } = new URL(`${scheme}://${after}`);
        const host = encodeURIComponent(origin.slice(origin.indexOf('//') + 2));
        const rest = href.slice(origin.length);
        expect(parse(`/${scheme}%3A//${host}${rest}`)).toBe(href);
        expect(parse(`/${scheme}://${host}${rest}`)).toBe(href);
      }),
    );
  });

  test('a URL that is encoded as a whole is decoded once', () => {
    fc.assert(
      fc.property(url, ({ scheme, after }) => {
        const { href } = new URL(`${scheme}://${after}`);
        const whole = encodeURIComponent(href);
        expect(parse(`/${whole}`)).toBe(href);
        expect(parse(`/${whole.replaceAll('%3A', ':')}`)).toBe(href);
      }),
    );
  });

  test('any URL without its scheme is read with the configured scheme', () => {
    fc.assert(
      fc.property(url, ({ after }) => {
        expect(parse(asBytes(`/${after}`))).toBe(new URL(`https://${after}`).href);
      }),
    );
  });

  test.each(['http://edge:3125', 'http://edge:3125/', 'http://edge:3125//'])(
    'a URL with the prefix %s is read back by the edge',
    (edge) => {
      expect(formatPrefixedUrl(edge, 'https://example.com/x')).toBe(
        'http://edge:3125/https://example.com/x',
      );
      fc.assert(
        fc.property(url, ({ scheme, after }) => {
          const { href } = new URL(`${scheme}://${after}`);
          const sent = new URL(formatPrefixedUrl(edge, href));
          expect(parse(sent.href.slice(sent.origin.length))).toBe(href);
        }),
      );
    },
  );

  test('any target is read as a URL or refused with an error of the table', () => {
    const hostile = fc
      .array(
        fc.oneof(
          fc.constantFrom('http:', 'https:', '/', '//', '\\', '@', ':', '[', ']', '%2f', '%00'),
          fc.constantFrom('.', '..', '?', '#', ' ', '\0', '\xff', 'ftp:', '1', 'a.b', '::1'),
          fc.uint8Array({ maxLength: 10 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
        ),
      )
      .map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(hostile, (target) => {
        try {
          expect(parsePrefixedTarget(`/${target}`, HTTPS).protocol).toMatch(/^https?:$/);
        } catch (error) {
          if (!(error instanceof MillraceError)) throw error;
          expect(error.row.status).toBeGreaterThanOrEqual(400);
        }
      }),
      { numRuns: 300 },
    );
  });
});
