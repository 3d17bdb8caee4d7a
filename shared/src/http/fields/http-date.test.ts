import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatHttpDate, parseHttpDate } from './http-date.ts';

const EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('HTTP dates', () => {
  test.each([
    ['the preferred form', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['the form of RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['the form of asctime', 'Sun Nov  6 08:49:37 1994'],
    ['white space around it', ' Sun, 06 Nov 1994 08:49:37 GMT\t'],
  ])('%s is understood', (_, text) => {
    expect(parseHttpDate(text)).toBe(EXAMPLE);
  });

  test.each([
    ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
    ['Friday, 31-Dec-99 23:59:59 GMT', Date.UTC(1999, 11, 31, 23, 59, 59)],
    ['Saturday, 01-Jan-00 00:00:00 GMT', Date.UTC(2000, 0, 1)],
    ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['thu, 01 JAN 1970 00:00:00 gmt', 0],
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
  ])('%s is understood', (text, time) => {
    expect(parseHttpDate(text)).toBe(time);
  });

  test.each([
    undefined,
    '',
    '0',
    '-1',
    'now',
    '784111777',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Thu, 31 Nov 1994 08:49:37 GMT',
    'Wed, 29 Feb 2023 00:00:00 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:37 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT',
  ])('%j is not a date', (text) => {
    expect(parseHttpDate(text)).toBeUndefined();
  });

  test('a written date has the preferred form and is read back as the same second', () => {
    const seconds = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) / 1000 });
    fc.assert(
      fc.property(seconds, fc.nat(999), (second, ms) => {
        const text = formatHttpDate(second * 1000 + ms);
        expect(text).toMatch(/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/);
        expect(parseHttpDate(text)).toBe(second * 1000);
      }),
    );
  });

  test('any text is read as a whole second or refused', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect((parseHttpDate(text) ?? 0) % 1000).toBe(0);
      }),
    );
  });
});
