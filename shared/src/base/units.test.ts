import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseBytes, parseDuration, parseRate } from './unit-options.ts';
import { formatBytes, formatDuration, formatRate } from './units.ts';

const badOption = expect.objectContaining({ code: 'bad-option' });
/** Returns true if a reader gives a usable number or a clear refusal. */
function isRefusedOr(check: (value: number) => boolean, read: () => number) {
  try {
    return check(read());
  } catch (error) {
    return (error as { code?: string }).code === 'bad-option';
  }
}

describe('units', () => {
  test.each([
    ['0', 0],
    ['1048576', 1048576],
    ['12B', 12],
    ['64K', 65536],
    ['64k', 65536],
    ['64kB', 64000],
    ['64KB', 64000],
    ['64KiB', 65536],
    ['1.5 MiB', 1572864],
    ['  10GB  ', 10_000_000_000],
    ['1G', 2 ** 30],
    ['2t', 2 ** 41],
    ['3 TiB', 3 * 2 ** 40],
    ['1TB', 1e12],
    ['0.1K', 102],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('the size %j is read as %d bytes', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  test.each([
    '',
    ' ',
    'K',
    '-1',
    '+1',
    '1e3',
    '0x10',
    '1,5M',
    '1.M',
    '.5M',
    '1..5',
    '10 P',
    '10 mibs',
    '10 M B',
    'ten',
    'NaN',
    'Infinity',
    '5constructor',
    '9007199254740992',
    '99999T',
    '٣',
  ])('%j is refused as a size', (text) => {
    expect(() => parseBytes(text)).toThrow(badOption);
  });

  test('the error of a refused size names it and gives valid examples', () => {
    expect(() => parseBytes('10 flops')).toThrow(
      expect.objectContaining({
        detail: '"10 flops" is not a size such as 64K, 256MiB or 10GB',
      }),
    );
  });

  test.each([
    ['500K', 512_000],
    ['2MiB/s', 2 * 2 ** 20],
    ['2 MB/S', 2_000_000],
    ['1', 1],
  ])('the rate %j is %d bytes per second', (text, rate) => {
    expect(parseRate(text)).toBe(rate);
  });

  test.each(['0', '0K/s', '0.0001', '', '/s', '5/m', '5//s', '-1K'])(
    '%j is refused as a rate',
    (text) => {
      expect(() => parseRate(text)).toThrow(badOption);
    },
  );

  test.each([
    ['500ms', 500],
    ['10', 10_000],
    ['10s', 10_000],
    ['1.5 S', 1500],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['2d', 172_800_000],
    ['0', 0],
    ['0.4ms', 0],
  ])('the duration %j is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', 's', '-1s', '1w', '1 min', '1m30s', '1e3', 'soon', '99999999999999d'])(
    '%j is refused as a duration',
    (text) => {
      expect(() => parseDuration(text)).toThrow(badOption);
    },
  );

  test.each([
    [0, '0 B'],
    [-5, '0 B'],
    [999, '999 B'],
    [1000, '0.98 KiB'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [10 * 1024, '10 KiB'],
    [12_345, '12.1 KiB'],
    [1_048_064, '1 MiB'],
    [256 * 2 ** 20, '256 MiB'],
    [1.25 * 2 ** 30, '1.25 GiB'],
    [2 ** 40, '1 TiB'],
    [5000 * 2 ** 40, '5000 TiB'],
  ])('%d bytes are written as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  test('a rate is a size per second', () => {
    expect(formatRate(1.5 * 2 ** 20)).toBe('1.5 MiB/s');
  });

  test.each([
    [0, '0:00'],
    [-1000, '0:00'],
    [7000, '0:07'],
    [59_499, '0:59'],
    [59_500, '1:00'],
    [754_000, '12:34'],
    [3_600_000, '1:00:00'],
    [11_045_000, '3:04:05'],
    [86_399_000, '23:59:59'],
    [2 * 86_400_000 + 11_045_000, '2d 3:04:05'],
  ])('%d ms are written as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('a written size is read back as almost the same size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900 * 2 ** 40 }), (bytes) => {
        const text = formatBytes(bytes);
        expect(text).toMatch(/^\d{1,3}(\.\d{1,2})? ([KMGT]i)?B$/);
        expect(text.replace(/\D/g, '').replace(/^0+/, '').length).toBeLessThanOrEqual(3);
        expect(Math.abs(parseBytes(text) - bytes)).toBeLessThanOrEqual(bytes * 0.0055);
      }),
    );
  });

  test('whole numbers are read exactly', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        expect(parseBytes(String(bytes))).toBe(bytes);
      }),
    );
  });

  test('any text is read as a whole number that makes sense, or refused', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,12} ?[a-zA-Z/]{0,4}$/));
    fc.assert(
      fc.property(text, (any) => {
        const whole = (value: number) => Number.isSafeInteger(value) && value >= 0;
        expect(isRefusedOr(whole, () => parseBytes(any))).toBe(true);
        expect(isRefusedOr(whole, () => parseDuration(any))).toBe(true);
        expect(
          isRefusedOr(
            (rate) => whole(rate) && rate > 0,
            () => parseRate(any),
          ),
        ).toBe(true);
      }),
    );
  });
});
