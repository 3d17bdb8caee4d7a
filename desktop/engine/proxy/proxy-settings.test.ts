import { describe, expect, test } from '@jest/globals';
import { formatProxy, parseProxy, proxyChoice } from './proxy-settings.ts';

describe('parseProxy', () => {
  test.each([
    ['http://proxy.test:3128', 'http://proxy.test:3128'],
    ['http://proxy.test/', 'http://proxy.test:80'],
    ['https://proxy.test', 'https://proxy.test:443'],
    ['proxy.test:3128', 'http://proxy.test:3128'],
    ['10.1.2.3:8080', 'http://10.1.2.3:8080'],
    ['socks://proxy.test', 'socks5://proxy.test:1080'],
    ['socks5h://proxy.test:9050', 'socks5://proxy.test:9050'],
    ['socks4a://proxy.test', 'socks4a://proxy.test:1080'],
    ['socks4://proxy.test', 'socks4://proxy.test:1080'],
    ['http://[2001:db8::1]:3128', 'http://[2001:db8::1]:3128'],
    ['socks5://[::1]', 'socks5://[::1]:1080'],
  ])('%s is %s', (text, shown) => {
    expect(formatProxy(parseProxy(text))).toBe(shown);
  });

  test('user and password are percent-decoded, and never shown', () => {
    const proxy = parseProxy('http://us%40er:p%3Aass%2Fword@proxy.test:3128');
    expect(proxy).toMatchObject({ user: 'us@er', password: 'p:ass/word', host: 'proxy.test' });
    expect(formatProxy(proxy)).toBe('http://proxy.test:3128');
  });

  test.each([
    'ftp://user:secret@proxy.test',
    'http://user:secret@',
    'http://user:secret@proxy.test:99999',
    'http://user:secret@proxy.test/path',
    'http://user:secret@proxy.test?x',
    'http://user:secret%zz@proxy.test',
    `socks5://user:secret${'x'.repeat(260)}@proxy.test`,
    'socks4://user%00secret@proxy.test',
    '',
    `http://secret.${'x'.repeat(3000)}`,
  ])('%# is refused without showing the password', (text) => {
    let thrown: unknown;
    try {
      parseProxy(text, 'HTTPS_PROXY');
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'bad-option' });
    expect(String(thrown)).toContain('HTTPS_PROXY');
    expect(String(thrown)).not.toContain('secret');
  });
});

describe('proxyChoice', () => {
  const choose = (url: string, env: Record<string, string>, proxy?: string) => {
    const chosen = proxyChoice(proxy, env)(new URL(url));
    return chosen === undefined ? 'direct' : formatProxy(chosen);
  };

  test('each scheme has its own variable, and all_proxy is the fallback', () => {
    const env = { http_proxy: 'http://h:1', HTTPS_PROXY: 'http://s:1', all_proxy: 'socks5://a:1' };
    expect(choose('http://x.test/', env)).toBe('http://h:1');
    expect(choose('https://x.test/', env)).toBe('http://s:1');
    expect(choose('https://x.test/', { ALL_PROXY: 'socks5://a:1' })).toBe('socks5://a:1');
    expect(choose('http://x.test/', {})).toBe('direct');
    expect(choose('http://x.test/', { http_proxy: '', HTTP_PROXY: ' ' })).toBe('direct');
  });

  test('lower case takes precedence, and HTTP_PROXY is ignored in a CGI program', () => {
    expect(choose('http://x.test/', { http_proxy: 'http://l:1', HTTP_PROXY: 'http://u:1' })).toBe(
      'http://l:1',
    );
    expect(choose('http://x.test/', { HTTP_PROXY: 'http://u:1' })).toBe('http://u:1');
    expect(choose('http://x.test/', { HTTP_PROXY: 'http://u:1', REQUEST_METHOD: 'GET' })).toBe(
      'direct',
    );
  });

  test('a given proxy takes precedence over the environment, and "direct" ignores both', () => {
    const env = { http_proxy: 'http://h:1', https_proxy: 'http://h:1' };
    expect(choose('https://x.test/', env, 'socks5://own:1')).toBe('socks5://own:1');
    expect(choose('https://x.test/', env, 'direct')).toBe('direct');
    expect(choose('https://x.test/', { https_proxy: 'nonsense://' }, 'direct')).toBe('direct');
  });

  test('a variable that cannot be parsed is an error that names it', () => {
    expect(() => proxyChoice(undefined, { ALL_PROXY: 'gopher://x' })).toThrow(/ALL_PROXY/);
  });

  test.each([
    'http://localhost/',
    'http://localhost./',
    'http://a.localhost:3125/',
    'http://127.0.0.1:3125/',
    'http://127.8.9.1/',
    'http://[::1]:3125/',
  ])('%s is this machine: never proxied unless asked for', (url) => {
    expect(choose(url, {}, 'http://p:1')).toBe('direct');
    expect(choose(url, { http_proxy: 'http://p:1' })).toBe('direct');
    expect(choose(url, { no_proxy: '<-loopback>' }, 'http://p:1')).toBe('http://p:1');
  });

  test.each([
    ['*', 'http://any.test/', true],
    ['example.com', 'http://example.com/', true],
    ['example.com', 'http://EXAMPLE.com./', true],
    ['EXAMPLE.COM', 'http://a.b.example.com/', true],
    ['.example.com', 'http://a.example.com/', true],
    ['.example.com', 'http://example.com/', true],
    ['*.example.com', 'http://a.example.com/', true],
    ['*.example.com', 'http://example.com/', false],
    ['example.com', 'http://notexample.com/', false],
    ['example.com', 'http://example.com.evil.test/', false],
    ['other.test, example.com', 'http://example.com/', true],
    ['other.test example.com', 'http://example.com/', true],
    ['example.com:8080', 'http://example.com:8080/', true],
    ['example.com:8080', 'http://example.com/', false],
    ['example.com:443', 'https://example.com/', true],
    ['10.1.2.3', 'http://10.1.2.3/', true],
    ['10.1.2.3', 'http://10.1.2.30/', false],
    ['10.0.0.0/8', 'http://10.200.1.1/', true],
    ['10.0.0.0/8', 'http://11.0.0.1/', false],
    ['2001:db8::/32', 'http://[2001:db8:1::5]/', true],
    ['2001:db8::1', 'http://[2001:db8:0:0::1]/', true],
    ['[2001:db8::1]:8080', 'http://[2001:db8::1]:8080/', true],
    ['[2001:db8::1]:8080', 'http://[2001:db8::1]/', false],
    ['10.0.0.0/99', 'http://10.0.0.1/', false],
    ['1.2.3/8', 'http://1.2.3.4/', false],
    [', ,.,*.', 'http://example.com/', false],
  ])('no_proxy "%s": is %s fetched directly? %s', (noProxy, url, direct) => {
    const env = { http_proxy: 'http://p:1', https_proxy: 'http://p:1', no_proxy: noProxy };
    expect(choose(url, env)).toBe(direct ? 'direct' : 'http://p:1');
    expect(choose(url, env, 'socks5://own:1')).toBe(direct ? 'direct' : 'socks5://own:1');
  });
});
