import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { httpsLocation } from './https-redirect.ts';

describe('httpsLocation', () => {
  test.each([
    ['edge.example', 443, 'https://edge.example/a?b'],
    ['edge.example:80', 443, 'https://edge.example/a?b'],
    ['edge.example:3126', 3125, 'https://edge.example:3125/a?b'],
    ['[::1]:80', 443, 'https://[::1]/a?b'],
    ['10.0.0.1', 8443, 'https://10.0.0.1:8443/a?b'],
  ])('%s is redirected to the same name', (host, port, location) => {
    expect(httpsLocation(host, '/a?b', port)).toBe(location);
  });

  test('the public address of the edge is preferred if it has TLS', () => {
    expect(httpsLocation('10.0.0.1', '/a', 3125, 'https://edge.example')).toBe(
      'https://edge.example/a',
    );
    expect(httpsLocation('10.0.0.1', '/a', 443, 'http://edge.example')).toBe('https://10.0.0.1/a');
  });

  test('the target stays as it is, except that octets above ASCII are encoded', () => {
    expect(httpsLocation('e', '/https://o/a%2F../b', 443)).toBe('https://e/https://o/a%2F../b');
    expect(httpsLocation('e', '/caf\u00c3\u00a9', 443)).toBe('https://e/caf%C3%A9');
  });

  test('whatever the client sends, the location is one line and leads to the named host', () => {
    const odd = fc.stringMatching(/^[a-z0-9.:@/\\?#[\] \r\n\t-]{0,20}$/);
    fc.assert(
      fc.property(odd, odd, (host, rest) => {
        const location = httpsLocation(host, `/${rest}`, 443);
        if (location === undefined) return;
        expect(location).not.toMatch(/[\r\n\t ]/);
        expect(new URL(location).hostname.replace(/\.$/, '')).toBe(
          new URL(`http://${host}`).hostname.replace(/\.$/, ''),
        );
      }),
    );
  });

  test('a missing or unusable Host, or another form of target, gives no location', () => {
    for (const host of [undefined, '', 'a b', 'evil@e', 'e/x', 'e\r\nx: y', '-']) {
      expect(httpsLocation(host, '/', 443)).toBeUndefined();
    }
    expect(httpsLocation('e', 'http://other/', 443)).toBeUndefined();
  });
});
