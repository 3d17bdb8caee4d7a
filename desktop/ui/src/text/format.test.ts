import { describe, expect, test } from '@jest/globals';
import { bytes, duration, hostOf, percent, rate, when } from './format.ts';
import { Text } from './text.ts';

const [en, de] = [new Text('en', 'en-GB'), new Text('de')];
const plain = (text: string) => text.replace(/\u00a0/g, ' ');

describe('sizes', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '0.98 KiB'],
    [1536, '1.5 KiB'],
    [1024 ** 2 * 256, '256 MiB'],
    [1024 ** 3 * 4.26, '4.26 GiB'],
    [1024 ** 5, '1,024 TiB'],
  ])('%d is %s', (value, text) => expect(plain(bytes(en, value))).toBe(text));

  test('have the decimal sign of their language', () => {
    expect(plain(rate(de, 1536))).toBe('1,5 KiB/s');
  });
});

describe('shares', () => {
  test.each([
    [0, '0%'],
    [0.999, '99%'],
    [1, '100%'],
    [1.5, '100%'],
  ])('%d is %s', (share, text) => expect(percent(en, share)).toBe(text));
});

describe('spans of time', () => {
  test.each([
    [400, '0:00'],
    [61_000, '1:01'],
    [3_600_000, '1:00:00'],
    [90_000_000, '1 d 1 h'],
  ])('%d ms are %s', (ms, text) => expect(plain(duration(ms))).toBe(text));
});

describe('moments', () => {
  const now = new Date(2026, 2, 3, 15, 0).getTime();
  test.each([
    [new Date(2026, 2, 3, 14, 59, 30), 'just now'],
    [new Date(2026, 2, 3, 14, 55), '5 minutes ago'],
    [new Date(2026, 2, 3, 9, 5), 'today, 09:05'],
    [new Date(2026, 2, 2, 23, 0), 'yesterday, 23:00'],
    [new Date(2026, 0, 5, 8, 0), '5 Jan, 08:00'],
    [new Date(2025, 0, 5, 8, 0), '5 Jan 2025, 08:00'],
    [new Date(2026, 2, 3, 18, 0), 'today, 18:00'],
  ])('%s is %s', (at, text) => expect(when(en, at.getTime(), now)).toBe(text));
});

test('hosts are shown with their port; text that is not a URL is shown as it is', () => {
  expect(hostOf('https://a.example:8080/x')).toBe('a.example:8080');
  expect(hostOf('nothing')).toBe('nothing');
});
