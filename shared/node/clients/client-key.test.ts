import { describe, expect, test } from '@jest/globals';
import { clientKey, networkKey } from './client-key.ts';

describe('clientKey', () => {
  test.each([
    ['an IPv4 address', '192.0.2.1', '192.0.2.1'],
    ['the same as IPv6 writes it', '::ffff:192.0.2.1', '192.0.2.1'],
    ['an IPv6 address: its /64', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['another of the same subscriber', '2001:db8:1:2::7', '2001:db8:1:2::/64'],
    ['an address with zeros in front', '::1', '0:0:0:0::/64'],
    ['a key again', '2001:db8:1:2::/64', '2001:db8:1:2::/64'],
    ['no address', 'unknown', 'unknown'],
  ])('%s', (_what, address, key) => expect(clientKey(address)).toBe(key));

  test('another subscriber of the same provider is another client', () => {
    expect(clientKey('2001:db8:1:3::7')).not.toBe(clientKey('2001:db8:1:2::7'));
  });
});

describe('networkKey', () => {
  test.each([
    ['an IPv4 address: its /24', '192.0.2.77', '192.0.2.0/24'],
    ['the same as IPv6 writes it', '::ffff:192.0.2.1', '192.0.2.0/24'],
    ['an IPv6 address: its /48', '2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['an address with zeros in front', '::1', '0:0:0::/48'],
    ['a text of something else', 'unknown', undefined],
  ])('%s', (_what, address, key) => expect(networkKey(address)).toBe(key));
});
