import { describe, expect, test } from '@jest/globals';
import { ClientAddress, parseNetwork } from './client-address.ts';

const behind = (field: 'x-forwarded-for' | 'forwarded', ...networks: string[]) =>
  new ClientAddress(networks.map(parseNetwork), field);

describe('X-Forwarded-For', () => {
  const proxies = behind('x-forwarded-for', '10.0.0.0/8', '127.0.0.1', 'fd00::/8');
  test.each([
    ['no proxy wrote it', '192.0.2.1', '198.51.100.9', '192.0.2.1'],
    ['one proxy', '10.0.0.1', '198.51.100.9', '198.51.100.9'],
    ['a chain of them', '127.0.0.1', '198.51.100.9, 10.2.3.4', '198.51.100.9'],
    ['an entry that the client wrote itself', '10.0.0.1', '8.8.8.8, 198.51.100.9', '198.51.100.9'],
    ['with a port', '10.0.0.1', '198.51.100.9:4711', '198.51.100.9'],
    ['IPv6 with a port', '10.0.0.1', '[2001:db8::9]:4711', '2001:db8::9'],
    ['IPv6 proxies', 'fd00::1', '2001:db8::9', '2001:db8::9'],
    ['a proxy seen in IPv6 form', '::ffff:10.0.0.1', '198.51.100.9', '198.51.100.9'],
    ['not even an address', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['nothing', '10.0.0.1', '', '10.0.0.1'],
    ['proxies only', '10.0.0.1', '10.0.0.7', '10.0.0.7'],
  ])('%s', (_, remote, value, client) => {
    expect(proxies.of(remote, { 'x-forwarded-for': value })).toBe(client);
  });

  test('the other field, which a client could add, is not read', () => {
    const forwarded = { forwarded: 'for=8.8.8.8', 'x-forwarded-for': '198.51.100.9' };
    expect(proxies.of('10.0.0.1', forwarded)).toBe('198.51.100.9');
  });

  test('without trusted proxies the field is ignored', () => {
    const nobody = behind('x-forwarded-for');
    expect(nobody.of('10.0.0.1', { 'x-forwarded-for': '198.51.100.9' })).toBe('10.0.0.1');
    expect(nobody.of(undefined, {})).toBe('');
  });
});

describe('Forwarded', () => {
  const proxies = behind('forwarded', '10.0.0.0/8');
  test.each([
    ['for=198.51.100.9', '198.51.100.9'],
    ['proto=https;For="198.51.100.9:80";by=10.0.0.1', '198.51.100.9'],
    ['for="[2001:db8::9]:4711"', '2001:db8::9'],
    ['for=8.8.8.8, for=198.51.100.9;proto=http, for=10.1.1.1', '198.51.100.9'],
    ['for=_hidden', '10.0.0.1'],
    ['by=198.51.100.9', '10.0.0.1'],
  ])('%s', (value, client) => {
    expect(proxies.of('10.0.0.1', { forwarded: value })).toBe(client);
  });
});

test.each(['10.0.0.0/33', 'example.com', '', '10.0.0/8x', '::/129'])(
  '"%s" is not a network',
  (text) => {
    expect(() => parseNetwork(text)).toThrow(expect.objectContaining({ code: 'bad-option' }));
  },
);
