import { expect, test } from '@jest/globals';
import { isAmong } from './host-list.ts';

test.each([
  ['example.com', true],
  ['dl.example.com', true],
  ['a.b.example.com', true],
  ['10.0.0.1', true],
  ['badexample.com', false],
  ['example.com.evil.example', false],
  ['com', false],
  ['', false],
])('%j is among the listed hosts: %s', (host, among) => {
  expect(isAmong(host, ['Example.COM', '10.0.0.1'])).toBe(among);
});
