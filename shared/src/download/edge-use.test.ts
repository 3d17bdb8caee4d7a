import { describe, expect, test } from '@jest/globals';
import { mayUseEdges } from './edge-use.ts';

describe('edges may be asked for', () => {
  test.each([
    'https://example.com/a.iso',
    'http://example.com:8080/a.iso?mirror=de',
    'https://8.8.8.8/a.iso',
    'https://local.example.com/a.iso',
  ])('%s', (url) => {
    expect(mayUseEdges(url, { cookie: 'a=b' })).toBe(true);
  });

  test.each([
    ['a user name', 'https://user@example.com/a.iso'],
    ['a password', 'https://:word@example.com/a.iso'],
    ['a signature', 'https://example.com/a.iso?X-Amz-Signature=abc'],
    ['a token', 'https://example.com/a.iso?token=abc'],
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
  ])('not where there is %s: %s', (_, url) => {
    expect(mayUseEdges(url, {})).toBe(false);
  });

  test('not what a log-in was sent for', () => {
    expect(mayUseEdges('https://example.com/a.iso', { authorization: 'Basic eA==' })).toBe(false);
  });
});
