import { expect, test } from '@jest/globals';
import { isOnLink } from './on-link.ts';

test.each([
  ['192.168.1.7', '192.168.1.5/24', true],
  ['192.168.1.5', '192.168.1.5/24', true],
  ['169.254.3.4', '169.254.9.9/16', true],
  ['192.168.2.7', '192.168.1.5/24', false],
  ['8.8.8.8', '192.168.1.5/24', false],
  ['127.0.0.1', '127.0.0.1/8', false],
  ['224.0.0.251', '192.168.1.5/0', false],
  ['255.255.255.255', '192.168.1.5/0', false],
  ['0.0.0.0', '192.168.1.5/0', false],
  ['fe80::1', 'fe80::2/64', false],
  ['192.168.1.7', 'nonsense', false],
])('%s is on the link %s: %s', (address, network, is) => {
  expect(isOnLink(address, network)).toBe(is);
});
