import { expect, test } from '@jest/globals';
import { otherUrls } from './other-urls.ts';

const INTERFACES = {
  lo: [
    { address: '127.0.0.1', internal: true },
    { address: '::1', internal: true },
  ],
  eth0: [
    { address: 'fe80::1%eth0', internal: false },
    { address: '2001:db8::7', internal: false },
    { address: '192.168.1.7', internal: false },
  ],
  eth1: [{ address: '169.254.3.4', internal: false }],
};
const shown = (host: string, ...urls: string[]) => otherUrls(host, urls, INTERFACES);

test('an edge on all addresses is not reported as one on loopback only', () => {
  expect(shown('0.0.0.0', 'http://127.0.0.1:3125')).toEqual(['http://192.168.1.7:3125']);
  expect(shown('::', 'http://[::1]:3125')).toEqual([
    'http://192.168.1.7:3125',
    'http://[2001:db8::7]:3125',
  ]);
});

test('both ports of an edge with TLS are shown', () => {
  expect(shown('0.0.0.0', 'https://127.0.0.1:443', 'http://127.0.0.1:80')).toEqual([
    'https://192.168.1.7:443',
    'http://192.168.1.7:80',
  ]);
});

test('an edge on one address has no others', () => {
  for (const host of ['127.0.0.1', '192.168.1.7', 'edge.example']) {
    expect(shown(host, `http://${host}:3125`)).toEqual([]);
  }
});

test('a machine with many addresses does not fill the screen', () => {
  const many = Array.from({ length: 100 }, (_, i) => ({ address: `10.0.0.${i}`, internal: false }));
  expect(otherUrls('0.0.0.0', ['http://127.0.0.1:1'], { eth0: many })).toHaveLength(8);
});
