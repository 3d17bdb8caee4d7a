import { expect, test } from '@jest/globals';
import { Md4 } from './md4.ts';

const hex = (text: string) => Buffer.from(new Md4().digest(Buffer.from(text))).toString('hex');

test.each([
  ['', '31d6cfe0d16ae931b73c59d7e0c089c0'],
  ['a', 'bde52cb31de33e46245e05fbdbd6fb24'],
  ['abc', 'a448017aaf21d8525fc10ae87aa6729d'],
  ['message digest', 'd9130a8164549fe818874806e1c7014b'],
  ['abcdefghijklmnopqrstuvwxyz', 'd79e1c308aa5bbcdeea8ed63df412da9'],
  [
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
    '043f8582f241db351ce627e153e7f0e4',
  ],
  ['1234567890'.repeat(8), 'e33b4ddc9c38f2199c3e7b164fcc0536'],
])('has the digests of RFC 1320: "%s"', (text, digest) => {
  expect(hex(text)).toBe(digest);
});

test('digests a part of some bytes, whatever it digested before', () => {
  const md4 = new Md4();
  md4.digest(Buffer.alloc(1000, 1));
  expect(Buffer.from(md4.digest(Buffer.from('xabcx'), 1, 4)).toString('hex')).toBe(hex('abc'));
});
